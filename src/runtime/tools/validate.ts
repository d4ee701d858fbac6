import type { SchemaIssue } from "../../agent/definition/schema.ts";
import type { AnyTool } from "../../agent/definition/tool.ts";
import { asObject } from "../../providers/message-parts.ts";
import { thawObject } from "../../providers/metadata.ts";
import type { JsonObject, JsonValue } from "../../thread/json.ts";
import type { ToolCall } from "../../thread/message.ts";
import { badArguments, notAnObject } from "./issues.ts";
import type { ToolAnswer } from "./outcome.ts";
import { isJsonSchema, isStandard, resolved } from "./schema-kinds.ts";

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
