import type { JsonObject } from "heddle";
import type { Asked } from "../api.ts";
import { listOf, objectsOf, textOf } from "../json.ts";
import {
  checkCallId,
  checkKey,
  checkName,
  checkNoForeignFields,
  checkNotEmpty,
  checkOneOf,
  checkParameters,
  checkRequired,
  checkText,
  maxCallId,
  refuse,
} from "../openai-errors.ts";
import { checkReasoning } from "./reasoning.ts";
import { itemsOf } from "./stored.ts";

const TYPES = ["message", "function_call", "function_call_output", "reasoning", "web_search_call"];
const CONTENT: { readonly [role: string]: readonly string[] } = {
  assistant: ["output_text", "refusal"],
  user: ["input_text", "input_image", "input_file"],
  system: ["input_text"],
  developer: ["input_text"],
};

/** What Responses refuses. */
export function checkResponses(asked: Asked): void {
  const { body, headers, model } = asked;
  checkKey(headers);
  checkRequired(body["model"], "model");
  checkRequired(body["input"], "input");
  checkTools(body);
  const items = itemsOf(asked);
  checkNotEmpty(items, "input", "empty_list");
  const maxId = maxCallId(model) === 40 ? 64 : maxCallId(model); // this API has always taken 64
  for (const [index, item] of items.entries()) checkItem(item, `input[${index}]`, maxId);
  checkExchanges(items);
  checkReasoning(items, asked);
  checkNoForeignFields(body, "input");
}

function checkTools(body: JsonObject): void {
  for (const [index, tool] of objectsOf(body["tools"]).entries()) {
    if (tool["type"] !== "function") continue;
    const name = checkName(tool["name"], `tools[${index}].name`);
    checkRequired(tool["parameters"], `tools[${index}].parameters`);
    checkParameters(tool["parameters"], name, `tools[${index}].parameters`);
  }
}

function checkItem(item: JsonObject, at: string, maxId: number): void {
  const type = item["type"] ?? (item["role"] === undefined ? undefined : "message");
  checkOneOf(type, TYPES, `${at}.type`, "invalid_item");
  if (type === "message") checkSpoken(item, at);
  if (type === "function_call") {
    checkCallId(item["call_id"], `${at}.call_id`, maxId);
    checkName(item["name"], `${at}.name`);
    checkRequired(item["arguments"], `${at}.arguments`);
    checkText(item["arguments"], `${at}.arguments`);
  }
  if (type === "function_call_output") {
    checkCallId(item["call_id"], `${at}.call_id`, maxId);
    checkRequired(item["output"], `${at}.output`);
    if (!Array.isArray(item["output"])) checkText(item["output"], `${at}.output`);
  }
}

function checkSpoken({ role, content }: JsonObject, at: string): void {
  checkOneOf(role, Object.keys(CONTENT), `${at}.role`, "invalid_role");
  checkRequired(content, `${at}.content`);
  if (!Array.isArray(content)) {
    checkText(content, `${at}.content`);
    return;
  }
  checkNotEmpty(content, `${at}.content`, "empty_content");
  for (const [index, part] of objectsOf(content).entries()) {
    checkOneOf(part["type"], CONTENT[textOf(role) ?? ""] ?? [], `${at}.content[${index}]`, "invalid_part");
    if (part["type"] === "input_text" || part["type"] === "output_text") {
      checkText(part["text"], `${at}.content[${index}].text`);
    }
  }
}

/** Each call has its output somewhere behind it, and each output its call before it. */
function checkExchanges(items: readonly JsonObject[]): void {
  const called = new Set<string>();
  const answered = new Set<string>();
  for (const { type, call_id } of items) {
    const id = textOf(call_id) ?? "";
    if (type === "function_call") {
      if (called.has(id)) refuse("duplicate_call_id", "input", `Duplicate function call found with call_id ${id}.`);
      called.add(id);
    }
    if (type !== "function_call_output") continue;
    if (!called.has(id)) {
      refuse("orphan_result", "input", `No tool call found for function call output with call_id ${id}.`);
    }
    if (answered.has(id))
      refuse("duplicate_result", "input", `Duplicate function call output found with call_id ${id}.`);
    answered.add(id);
  }
  const open = [...called].find((id) => !answered.has(id));
  if (open !== undefined) refuse("missing_result", "input", `No tool output found for function call ${open}.`);
}

export function includes(body: JsonObject, field: string): boolean {
  return listOf(body["include"]).includes(field);
}
