import type { JsonObject, JsonValue } from "heddle";
import type { Illegal, Legal } from "./bodies.ts";

const user = (...parts: readonly JsonValue[]): JsonObject => ({ role: "user", parts });
const model = (...parts: readonly JsonValue[]): JsonObject => ({ role: "model", parts });
const call = (name = "add", more: JsonObject = {}): JsonObject => ({ functionCall: { name, args: {}, ...more } });
const signed = (name = "add"): JsonObject => ({ ...call(name), thoughtSignature: "skip_thought_signature_validator" });
const response = (name = "add", more: JsonObject = {}): JsonObject => ({
  functionResponse: { name, response: { ok: true }, ...more },
});
const list = (...contents: readonly JsonObject[]): JsonObject => ({ contents });
const tool = (declaration: JsonObject): JsonObject => ({
  ...list(hi),
  tools: [{ functionDeclarations: [declaration] }],
});
const hi = user({ text: "Hi" });

const COUNT = "the number of function response parts is equal to the number of function call parts";
const MISPLACED = "function call turn comes immediately after a user turn or after a function response turn";

const LEGAL: readonly Legal[] = [
  ["an ask", list(hi)],
  ["asks in a row", list(hi, hi)],
  [
    "calls with their responses, and an ask behind",
    list(hi, model(signed(), call("sub")), user(response(), response("sub")), hi),
  ],
  ["steps that each show a thought", list(hi, model(signed()), user(response()), model(signed()), user(response()))],
  ["an earlier turn that shows none", list(hi, model(call()), user(response()), model({ text: "4" }), hi)],
  ["an empty text with a signature", list(hi, model({ text: "", thoughtSignature: "x" }), hi)],
  ["a tool without parameters", tool({ name: "add" })],
];

const ILLEGAL: readonly Illegal[] = [
  ["an empty list", "empty_list", "contents is not specified", list()],
  [
    "an unknown role",
    "invalid_role",
    "Please use a valid role: user, model.",
    list({ role: "assistant", parts: [{ text: "Hi" }] }),
  ],
  [
    "a content without parts",
    "empty_content",
    "GenerateContentRequest.contents[1].parts: contents.parts must not be empty.",
    list(hi, model(), hi),
  ],
  [
    "a part without data",
    "invalid_part",
    "required oneof field 'data' must have one initialized field",
    list(user({})),
  ],
  ["an empty text", "empty_text", "must have a text parameter", list(user({ text: "" }))],
  ["an empty system prompt", "empty_text", "system_instruction", { ...list(hi), systemInstruction: { parts: [] } }],
  [
    "an answer at the end",
    "trailing_assistant",
    "Requests ending with a model turn are not supported.",
    list(hi, model({ text: "Hello" })),
  ],
  ["a call at the beginning", "misplaced_call", MISPLACED, list(model(signed()), user(response()))],
  [
    "a call behind an answer",
    "misplaced_call",
    MISPLACED,
    list(hi, model({ text: "Hm" }), model(signed()), user(response())),
  ],
  [
    "a response without a call",
    "orphan_result",
    "function response turn comes immediately after a function call turn",
    list(hi, user(response())),
  ],
  ["fewer responses than calls", "missing_result", COUNT, list(hi, model(signed(), call()), user(response()))],
  ["more responses than calls", "missing_result", COUNT, list(hi, model(signed()), user(response(), response()))],
  ["an ask between call and response", "missing_result", COUNT, list(hi, model(signed()), hi, user(response()))],
  [
    "a text beside a response",
    "text_beside_results",
    "Requests ending with a model turn are not supported.",
    list(hi, model(signed()), user(response(), { text: "Hurry" })),
  ],
  [
    "responses in another order",
    "result_mismatch",
    "function response parts match the function call parts",
    list(hi, model(signed(), call("sub")), user(response("sub"), response())),
  ],
  [
    "the id of another call",
    "result_mismatch",
    "function response parts match",
    list(
      hi,
      model({ ...call("add", { id: "a" }), thoughtSignature: "skip_thought_signature_validator" }),
      user(response("add", { id: "b" })),
    ),
  ],
  ["a response in an answer", "invalid_part", "function responses are in user turns", list(hi, model(response()), hi)],
  [
    "a first call of the turn without a signature",
    "missing_thought_signature",
    "Function call is missing a thought_signature in functionCall parts.",
    list(hi, model(call()), user(response())),
  ],
  [
    "a first call of the second step without one",
    "missing_thought_signature",
    "`default_api:sub` , position 4",
    list(hi, model(signed()), user(response()), model(call("sub")), user(response("sub"))),
  ],
  [
    "a signature of somebody else",
    "foreign_thinking",
    "Thought signature is not valid",
    list(hi, model({ ...call(), thoughtSignature: "x" }), user(response())),
  ],
  ["a tool with a space in its name", "invalid_tool_name", "Invalid function name.", tool({ name: "a b" })],
  [
    "parameters that are no object",
    "invalid_tool_schema",
    "only allowed for OBJECT type",
    tool({ name: "add", parametersJsonSchema: { type: "string" } }),
  ],
];

export const GEMINI = { legal: LEGAL, illegal: ILLEGAL };
