import type { InputSchema } from "../../agent/definition/schema.ts";
import type { OutputCheck } from "../../agent/signal.ts";
import { copyJsonRepaired, type JsonValue } from "../../thread/json.ts";
import { type Content, contentText } from "../../thread/message.ts";
import { isJsonSchema, isStandard, resolved } from "../tools/schema-kinds.ts";
import { shapeIssues } from "./shape-issues.ts";

const MOST_ISSUES = 10;

/** Whether an answer is JSON of the shape asked for. A fence around it is taken off. */
export async function checkOutput(content: Content, schema: InputSchema): Promise<OutputCheck> {
  const said = parsed(contentText(content)) ?? parsed(lastText(content));
  return said === undefined ? { ok: false, issues: ["it is not JSON"] } : validated(said.value, schema);
}

async function validated(value: unknown, given: InputSchema): Promise<OutputCheck> {
  try {
    const schema = resolved(given);
    if (isStandard(schema)) {
      const result = await schema["~standard"].validate(value);
      if (result.issues === undefined) return right(result.value);
      return { ok: false, issues: result.issues.slice(0, MOST_ISSUES).map(({ path, message }) => at(path, message)) };
    }
    if (!isJsonSchema(schema) || schema.validate === undefined) {
      const plain = isJsonSchema(schema) ? await schema.jsonSchema : schema;
      const issues = shapeIssues(value as JsonValue, plain as JsonValue); // both are JSON
      return issues.length === 0 ? right(value) : { ok: false, issues: issues.slice(0, MOST_ISSUES) };
    }
    const result = await schema.validate(value);
    return result.success ? right(result.value) : { ok: false, issues: [at(undefined, result.error.message)] };
  } catch {
    return { ok: false, issues: ["the schema could not check it"] };
  }
}

/** What is handed out and put into events is JSON, also where a schema makes something else of it. */
function right(value: unknown): OutputCheck {
  return { ok: true, object: copyJsonRepaired(value, "output") };
}

function at(path: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined, message: string): string {
  const keys = (path ?? []).map((key) => String(typeof key === "object" ? key.key : key));
  // Both may quote the answer, and models cut emojis in two.
  return (keys.length === 0 ? String(message) : `${keys.join(".")}: ${message}`).toWellFormed();
}

/** Some models comment in a text of its own, and then answer. */
function lastText(content: Content): string {
  return typeof content === "string" ? "" : contentText(content.filter(({ type }) => type === "text").slice(-1));
}

/** Models like to put JSON into a fence, with words around it; and JSON may hold fences. */
function parsed(text: string): { readonly value: unknown } | undefined {
  for (const candidate of [text, SHORTEST.exec(text)?.[1], LONGEST.exec(text)?.[1]]) {
    try {
      if (candidate !== undefined) return { value: JSON.parse(candidate) };
    } catch {
      // the next one may be it
    }
  }
  return undefined;
}

const SHORTEST = /```(?:json)?([\s\S]*?)```/i;
const LONGEST = /```(?:json)?([\s\S]*)```/i;
