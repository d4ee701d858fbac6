import type { JsonObject } from "heddle";
import type { Asked } from "../api.ts";
import { listOf, objectOf, objectsOf, textOf } from "../json.ts";
import { Refused } from "../problem.ts";
import { refuse } from "./errors.ts";
import { checkSignatures } from "./signatures.ts";

const NAME = /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/;

/** What generateContent refuses. */
export function checkGemini(asked: Asked): void {
  const { body, headers } = asked;
  if (headers["x-goog-api-key"] === undefined) {
    const message =
      "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API.";
    throw new Refused({ rule: "no_api_key", status: 403, type: "PERMISSION_DENIED", message });
  }
  checkTools(body);
  checkSystem(body);
  const contents = objectsOf(body["contents"]);
  if (contents.length === 0) refuse("empty_list", "* GenerateContentRequest.contents: contents is not specified\n");
  for (const [index, content] of contents.entries()) checkContent(content, index);
  for (const [index, content] of contents.entries()) checkExchange(content, contents[index - 1], asked);
  if (contents.at(-1)?.["role"] === "model") {
    refuse("trailing_assistant", "Requests ending with a model turn are not supported.");
  }
  checkSignatures(contents, asked);
}

function checkTools({ tools }: JsonObject): void {
  const declared = objectsOf(tools).flatMap((tool) => objectsOf(tool["functionDeclarations"]));
  for (const [index, { name, parameters, parametersJsonSchema }] of declared.entries()) {
    const at = `GenerateContentRequest.tools[0].function_declarations[${index}]`;
    if (!NAME.test(textOf(name) ?? "")) {
      refuse(
        "invalid_tool_name",
        `* ${at}.name: Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 128.`,
      );
    }
    const schema = parameters ?? parametersJsonSchema;
    if (schema !== undefined && textOf(objectOf(schema)["type"])?.toLowerCase() !== "object") {
      refuse("invalid_tool_schema", `* ${at}.parameters: only allowed for OBJECT type\n`);
    }
  }
}

function checkSystem({ systemInstruction }: JsonObject): void {
  if (systemInstruction === undefined) return;
  const parts = objectsOf(objectOf(systemInstruction)["parts"]);
  if (parts.length === 0 || parts.some(({ text }) => text === "")) {
    refuse("empty_text", "* GenerateContentRequest.system_instruction.parts: contents.parts must not be empty.\n");
  }
}

function checkContent({ role, parts }: JsonObject, index: number): void {
  const at = `GenerateContentRequest.contents[${index}]`;
  if (role !== "user" && role !== "model") refuse("invalid_role", "Please use a valid role: user, model.");
  if (listOf(parts).length === 0) refuse("empty_content", `* ${at}.parts: contents.parts must not be empty.\n`);
  for (const [place, part] of objectsOf(parts).entries()) {
    const kinds = [
      "text",
      "inlineData",
      "fileData",
      "functionCall",
      "functionResponse",
      "executableCode",
      "codeExecutionResult",
    ];
    if (!kinds.some((kind) => part[kind] !== undefined)) {
      refuse(
        "invalid_part",
        `* ${at}.parts[${place}].data: required oneof field 'data' must have one initialized field\n`,
      );
    }
    if (part["text"] === "" && part["thoughtSignature"] === undefined) {
      refuse(
        "empty_text",
        "Unable to submit request because it must have a text parameter. Add a text parameter and try again.",
      );
    }
    const wrongSide = role === "user" ? part["functionCall"] : part["functionResponse"];
    if (wrongSide !== undefined) {
      refuse(
        "invalid_part",
        `Please ensure that ${role === "user" ? "function calls are in model" : "function responses are in user"} turns.`,
      );
    }
    const name = objectOf(part["functionCall"] ?? part["functionResponse"])["name"];
    if (name !== undefined && !NAME.test(textOf(name) ?? "")) {
      refuse("invalid_tool_name", `* ${at}.parts[${place}].function_call.name: Invalid function name.\n`);
    }
  }
}

/** Behind N calls come N responses, alone, in the order of the calls; before calls comes a user or responses. */
function checkExchange(content: JsonObject, before: JsonObject | undefined, { model }: Asked): void {
  const calls = calledIn(content);
  if (calls.length > 0 && before?.["role"] !== "user") {
    refuse(
      "misplaced_call",
      "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
    );
  }
  const parts = objectsOf(content["parts"]);
  const given = parts.flatMap(({ functionResponse }) =>
    functionResponse === undefined ? [] : [objectOf(functionResponse)],
  );
  const called = before?.["role"] === "model" ? calledIn(before) : [];
  if (called.length === 0 && given.length > 0) {
    refuse("orphan_result", "Please ensure that function response turn comes immediately after a function call turn.");
  }
  if (called.length !== given.length) {
    refuse(
      "missing_result",
      "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
    );
  }
  // Gemini 2 has no place for files in a result, so they stand beside it.
  if (given.length > 0 && given.length !== parts.length && !model.includes("gemini-2")) {
    refuse("text_beside_results", "Requests ending with a model turn are not supported.");
  }
  for (const [place, response] of given.entries()) checkPair(objectOf(called[place]), response);
}

function checkPair(call: JsonObject, response: JsonObject): void {
  const sameId = call["id"] === undefined || response["id"] === undefined || call["id"] === response["id"];
  if (call["name"] === response["name"] && sameId) return;
  refuse(
    "result_mismatch",
    "Please ensure that function response parts match the function call parts of the function call turn.",
  );
}

function calledIn({ parts }: JsonObject): readonly JsonObject[] {
  return objectsOf(parts).flatMap(({ functionCall }) => (functionCall === undefined ? [] : [objectOf(functionCall)]));
}
