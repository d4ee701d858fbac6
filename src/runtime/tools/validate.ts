import type { SchemaIssue } from "../../agent/definition/schema.ts";
import type { AnyTool, Tools } from "../../agent/definition/tool.ts";
import { asObject, thaw, thawObject } from "../../providers/message-parts.ts";
import { isPlainObject, type JsonObject, type JsonValue, sameJson } from "../../thread/json.ts";
import type { ToolCall } from "../../thread/message.ts";
import { RequestError } from "../request/request-error.ts";
import { shapeIssues } from "../structured-output.ts";
import { type HookLimit, hookAnswer } from "../time-limits.ts";
import { jsonOf, resultTextOf } from "./json-result.ts";
import { errorAnswer, type ToolAnswer } from "./outcome.ts";
import { fieldOf, isJsonSchema, isStandard, resolveSchema } from "./schemas.ts";

/** The input of `execute`, or the error result if the arguments are invalid. */
export type ArgumentCheck = { readonly input: unknown } | { readonly refused: ToolAnswer };

/** Validates a copy for each attempt, because a schema or a tool may change it. The log keeps the arguments unchanged. */
export async function checkArguments(call: ToolCall, tool: AnyTool): Promise<ArgumentCheck> {
  const given = argumentsObject(call.arguments);
  if (given === undefined) return { refused: notAnObject(call.name) };
  const schema = resolveSchema(tool.inputSchema);
  const copy = thawObject(given);
  if (isStandard(schema)) {
    const result = await schema["~standard"].validate(copy);
    return result.issues === undefined ? { input: result.value } : refused(call, result.issues);
  }
  if (!isJsonSchema(schema) || schema.validate === undefined) return { input: copy };
  const result = await schema.validate(copy);
  return result.success ? { input: result.value } : refused(call, issuesOf(result.error));
}

/**
 * Checks arguments that a person has edited. A schema that cannot validate is checked with `shapeIssues`. A field that the
 * schema drops is an issue, because the tool would not get the approved arguments.
 */
export async function editedIssues(call: ToolCall, tool: AnyTool): Promise<readonly string[]> {
  const checked = await checkArguments(call, tool);
  if ("refused" in checked) return [errorMessage(checked.refused)];
  const schema = resolveSchema(tool.inputSchema);
  if (!isStandard(schema) && !(isJsonSchema(schema) && schema.validate !== undefined)) {
    return plainIssues(call.arguments, schema);
  }
  const kept = sharedFields(call.arguments, checked.input);
  if (sameJson(kept, call.arguments)) return [];
  const again = await checkArguments({ ...call, arguments: kept }, tool);
  // If a schema renames or uses a field, its result changes when the field is removed.
  const isDropped = "input" in again && resultTextOf(again.input) === resultTextOf(checked.input);
  const names = isDropped
    ? Object.keys(Object(call.arguments)).filter((name) => !Object.hasOwn(Object(kept), name))
    : [];
  return isDropped ? [`the schema drops ${names.length === 0 ? "fields within them" : names.join(", ")}`] : [];
}

/** The value with only the fields that `other` has too. */
function sharedFields(value: JsonValue, other: unknown): JsonValue {
  if (Array.isArray(value) && Array.isArray(other)) {
    return value.map((item: JsonValue, index) => sharedFields(item, other[index]));
  }
  if (!isPlainObject(value) || !isPlainObject(other)) return value;
  const shared = Object.entries(value).filter(([name]) => Object.hasOwn(other, name));
  return Object.fromEntries(shared.map(([name, field]) => [name, sharedFields(field as JsonValue, other[name])])); // of JSON
}

/** The message of the error result, for the person who edits the arguments. */
function errorMessage({ content }: ToolAnswer): string {
  const { error }: { readonly error?: { readonly message?: unknown } } = JSON.parse(String(content)); // of `errorAnswer`
  return String(error?.message);
}

async function plainIssues(value: JsonValue, schema: unknown): Promise<readonly string[]> {
  const plain = isJsonSchema(schema) ? await schema.jsonSchema : schema;
  return shapeIssues(value, plain as JsonValue).slice(0, MAX_ISSUES); // a schema is JSON
}

const ANSWER = { name: "The answerSchema", code: "invalid_answer" };

/** The answer to the question of a tool, as JSON. Throws a RequestError `invalid_answer` for one that its schema refuses. */
export async function questionAnswer(tools: Tools, name: string, given: unknown, limit: HookLimit): Promise<JsonValue> {
  const schema = Object.hasOwn(tools, name) ? resolveSchema(tools[name]?.answerSchema) : undefined;
  const answer = thaw(jsonOf(given));
  const refusal = (issues: readonly (SchemaIssue | string)[]): RequestError => {
    const trouble = issues
      .slice(0, MAX_ISSUES)
      .map((one) => (typeof one === "string" ? one : `${pathOf(one)}: ${one.message}`));
    const message = `The answer does not match the answerSchema of ${name}: ${trouble.join("; ")}. Answer again.`;
    return new RequestError({ code: ANSWER.code, message });
  };
  const checked = hookAnswer(limit, ANSWER, async () => {
    if (isStandard(schema)) {
      const result = await schema["~standard"].validate(answer);
      if (result.issues !== undefined) throw refusal(result.issues);
      return jsonOf(result.value);
    }
    if (!isJsonSchema(schema) || schema.validate === undefined) {
      const issues = await plainIssues(answer, schema);
      if (issues.length > 0) throw refusal(issues);
      return jsonOf(answer);
    }
    const result = await schema.validate(answer);
    if (!result.success) throw refusal(issuesOf(result.error));
    return jsonOf(result.value);
  });
  return checked.catch((cause: unknown) => {
    if (RequestError.isInstance(cause)) throw cause;
    const message = `The answerSchema of ${name} threw an error, which is in \`cause\`. Correct it, and answer again.`;
    throw new RequestError({ code: ANSWER.code, message, cause });
  });
}

/** For a call without arguments, some models send an empty text. Any other text is invalid JSON. */
function argumentsObject(given: JsonValue): JsonObject | undefined {
  return typeof given === "string" && given.trim() === "" ? {} : asObject(given);
}

function refused(call: ToolCall, issues: readonly SchemaIssue[]): ArgumentCheck {
  return { refused: badArguments(call.name, issues, call.arguments) };
}

/** The issues of a validator error, or its message if it has no list of issues. */
function issuesOf(error: unknown): readonly SchemaIssue[] {
  for (const source of [error, error instanceof Error ? error.cause : undefined]) {
    if (typeof source === "object" && source !== null && "issues" in source && Array.isArray(source.issues)) {
      return source.issues;
    }
  }
  return [{ message: error instanceof Error ? error.message : "does not match the schema" }];
}

const MAX_ISSUES = 20;

/** The answer for invalid arguments. The failure has only the paths; the model, which wrote the arguments, also gets the reasons. */
function badArguments(name: string, issues: readonly SchemaIssue[], given: JsonValue): ToolAnswer {
  const shown = issues.slice(0, MAX_ISSUES);
  const paths = [...new Set(shown.map(pathOf))];
  const more = issues.length > MAX_ISSUES ? ` and ${issues.length - MAX_ISSUES} more` : "";
  const message = `The arguments of ${name} do not fit its schema at: ${paths.join(", ")}${more}.`;
  const values = textsOf(given);
  const reasons = shown.map((issue) => `${pathOf(issue)}: ${expectation(issue, values)}`);
  const failure = { code: "tool_bad_arguments", message, retryable: false };
  return errorAnswer(failure, `The arguments of ${name} do not fit its schema. ${reasons.join("; ")}${more}.`);
}

function notAnObject(name: string): ToolAnswer {
  const message = `The arguments of ${name} are not a JSON object. Send one that fits its schema.`;
  return errorAnswer({ code: "tool_bad_arguments", message, retryable: false });
}

/** A path such as `days[0].from`. The path of the whole value is `arguments`. */
function pathOf({ path = [] }: SchemaIssue): string {
  const keys = path.map((step) => (typeof step === "object" ? step.key : step));
  return (
    keys.reduce<string>((text, key) => {
      if (typeof key === "number") return `${text}[${key}]`;
      const name = String(key).slice(0, 64).toWellFormed();
      return text === "" ? name : `${text}.${name}`;
    }, "") || "arguments"
  );
}

/** The reason of an issue. A message that repeats a value of the arguments is replaced by the expected type. */
function expectation(issue: SchemaIssue, values: readonly string[]): string {
  const message = String(issue.message).toWellFormed().slice(0, 500);
  const expected = fieldOf(issue, "expected");
  const candidates = [message, typeof expected === "string" ? `expected ${expected.slice(0, 100)}` : ""];
  const safe = candidates.find((text) => text !== "" && !values.some((value) => mentions(text, value)));
  return safe ?? "does not match the schema";
}

/** Whether a text repeats a value. A value of up to three characters must be a whole word, because it may occur in any message. */
function mentions(text: string, value: string): boolean {
  for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + 1)) {
    const alone = !/\w/.test(text[at - 1] ?? "") && !/\w/.test(text[at + value.length] ?? "");
    if (alone || value.length > 3) return true;
  }
  return false;
}

/** The texts and numbers of a value. Only the beginning of a long text, because messages may cut it. */
function textsOf(value: JsonValue): readonly string[] {
  if (typeof value === "string") return value === "" ? [] : [value.slice(0, 16)];
  if (typeof value === "number") return [String(value)];
  if (Array.isArray(value)) return value.flatMap(textsOf);
  if (!isPlainObject(value)) return [];
  return Object.values(value).flatMap((item) => textsOf(item as JsonValue)); // of a JSON object
}
