import type { SchemaIssue } from "../../agent/definition/schema.ts";
import type { AnyTool } from "../../agent/definition/tool.ts";
import { asObject, thawObject } from "../../providers/message-parts.ts";
import { isPlainObject, type JsonObject, type JsonValue } from "../../thread/json.ts";
import type { ToolCall } from "../../thread/message.ts";
import { failed, type ToolAnswer } from "./outcome.ts";
import { fieldOf, isJsonSchema, isStandard, resolved } from "./schemas.ts";

/** What `execute` gets, or what the model reads instead. */
export type Checked = { readonly input: unknown } | { readonly refused: ToolAnswer };

/** Each time anew, from a copy: the log keeps the arguments as they were, whatever a schema or a tool does to them. */
export async function checkArguments(call: ToolCall, tool: AnyTool): Promise<Checked> {
  const given = objectIn(call.arguments);
  if (given === undefined) return { refused: notAnObject(call.name) };
  const schema = resolved(tool.inputSchema);
  const copy = thawObject(given);
  if (isStandard(schema)) {
    const result = await schema["~standard"].validate(copy);
    return result.issues === undefined ? { input: result.value } : refused(call, result.issues);
  }
  if (!isJsonSchema(schema) || schema.validate === undefined) return { input: copy };
  const result = await schema.validate(copy);
  return result.success ? { input: result.value } : refused(call, issuesOf(result.error));
}

/** Of a call without arguments some models send nothing at all. Other text is JSON that could not be parsed. */
function objectIn(given: JsonValue): JsonObject | undefined {
  return typeof given === "string" && given.trim() === "" ? {} : asObject(given);
}

function refused(call: ToolCall, issues: readonly SchemaIssue[]): Checked {
  return { refused: badArguments(call.name, issues, call.arguments) };
}

/** Errors of validators carry a list of issues, or only a message. */
function issuesOf(error: unknown): readonly SchemaIssue[] {
  for (const source of [error, error instanceof Error ? error.cause : undefined]) {
    if (typeof source === "object" && source !== null && "issues" in source && Array.isArray(source.issues)) {
      return source.issues;
    }
  }
  return [{ message: error instanceof Error ? error.message : "is not what the schema asks for" }];
}

const SHOWN = 20;

/** Arguments that do not fit. Events learn only where; the model, who wrote them, also what was expected. */
function badArguments(name: string, issues: readonly SchemaIssue[], given: JsonValue): ToolAnswer {
  const shown = issues.slice(0, SHOWN);
  const paths = [...new Set(shown.map(pathOf))];
  const more = issues.length > SHOWN ? ` and ${issues.length - SHOWN} more` : "";
  const message = `The arguments of ${name} do not fit its schema at: ${paths.join(", ")}${more}.`;
  const values = leavesOf(given);
  const told = shown.map((issue) => `${pathOf(issue)}: ${expectation(issue, values)}`);
  const failure = { code: "tool_bad_arguments", message, retryable: false };
  return failed(failure, `The arguments of ${name} do not fit its schema. ${told.join("; ")}${more}.`);
}

function notAnObject(name: string): ToolAnswer {
  const message = `The arguments of ${name} are no JSON object. Send one that fits its schema.`;
  return failed({ code: "tool_bad_arguments", message, retryable: false });
}

/** `days[0].from`; the whole is `arguments`. */
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

/** Libraries like to repeat the value they got; such a message is replaced by what the library says it expected. */
function expectation(issue: SchemaIssue, values: readonly string[]): string {
  const message = String(issue.message).toWellFormed().slice(0, 500);
  const expected = fieldOf(issue, "expected");
  const candidates = [message, typeof expected === "string" ? `expected ${expected.slice(0, 100)}` : ""];
  const safe = candidates.find((text) => text !== "" && !values.some((value) => mentions(text, value)));
  return safe ?? "is not what the schema asks for";
}

/** Short values are words of any message; only as a word of their own do they count. */
function mentions(text: string, value: string): boolean {
  for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + 1)) {
    const alone = !/\w/.test(text[at - 1] ?? "") && !/\w/.test(text[at + value.length] ?? "");
    if (alone || value.length > 3) return true;
  }
  return false;
}

/** The texts and numbers of a value; of a long text its beginning, since messages cut. */
function leavesOf(value: JsonValue): readonly string[] {
  if (typeof value === "string") return value === "" ? [] : [value.slice(0, 16)];
  if (typeof value === "number") return [String(value)];
  if (Array.isArray(value)) return value.flatMap(leavesOf);
  if (!isPlainObject(value)) return [];
  return Object.values(value).flatMap((item) => leavesOf(item as JsonValue)); // of a JSON object
}
