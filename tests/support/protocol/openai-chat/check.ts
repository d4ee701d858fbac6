import type { JsonObject } from "heddle";
import type { Asked } from "../api.ts";
import { listOf, objectOf, objectsOf, textOf } from "../json.ts";
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

const ROLES = ["system", "assistant", "user", "function", "tool", "developer"];

/** What Chat Completions refuses. */
export function checkChat({ body, headers, model }: Asked): void {
  checkKey(headers);
  checkRequired(body["model"], "model");
  checkRequired(body["messages"], "messages");
  checkTools(body);
  const messages = objectsOf(body["messages"]);
  checkNotEmpty(messages, "messages", "empty_list");
  for (const [index, message] of messages.entries()) checkMessage(message, `messages[${index}]`, maxCallId(model));
  checkExchanges(messages);
  checkNoForeignFields(body, "messages");
}

function checkTools(body: JsonObject): void {
  if (body["tools"] === undefined) {
    if (body["tool_choice"] === undefined) return;
    refuse("tool_choice_without_tools", "tool_choice", "'tool_choice' is only allowed when 'tools' are specified.");
  }
  checkNotEmpty(listOf(body["tools"]), "tools", "empty_tools");
  for (const [index, tool] of objectsOf(body["tools"]).entries()) {
    checkOneOf(tool["type"], ["function", "custom"], `tools[${index}].type`, "invalid_tool");
    if (tool["type"] !== "function") continue;
    const called = objectOf(tool["function"]);
    const name = checkName(called["name"], `tools[${index}].function.name`);
    checkParameters(called["parameters"], name, `tools[${index}].function.parameters`);
  }
}

function checkMessage(message: JsonObject, at: string, maxId: number): void {
  const { role, content } = message;
  checkOneOf(role, ROLES, `${at}.role`, "invalid_role");
  const calls = message["tool_calls"];
  if (calls !== undefined) checkNotEmpty(listOf(calls), `${at}.tool_calls`, "empty_calls");
  for (const [index, call] of objectsOf(calls).entries()) {
    const place = `${at}.tool_calls[${index}]`;
    checkCallId(call["id"], `${place}.id`, maxId);
    const called = objectOf(call["function"]);
    checkName(called["name"], `${place}.function.name`);
    checkText(called["arguments"], `${place}.function.arguments`);
  }
  if (role === "tool") checkCallId(message["tool_call_id"], `${at}.tool_call_id`, maxId);
  if (Array.isArray(content)) {
    checkNotEmpty(content, `${at}.content`, "empty_content");
    for (const [index, part] of objectsOf(content).entries()) checkPart(part, role, `${at}.content[${index}]`);
    return;
  }
  const hasCalls = role === "assistant" && listOf(calls).length > 0;
  const isEmpty = content === undefined || content === null || (role === "assistant" && content === "");
  if (isEmpty && !hasCalls && textOf(message["refusal"]) === undefined) {
    refuse(
      "empty_content",
      `${at}.content`,
      `Invalid value for 'content': expected a string, got ${content === "" ? "an empty string" : "null"}.`,
    );
  }
  if (!isEmpty) checkText(content, `${at}.content`);
}

function checkPart(part: JsonObject, role: unknown, at: string): void {
  const allowed =
    role === "user" ? ["text", "image_url", "input_audio", "refusal", "audio", "file"] : ["text", "refusal"];
  checkOneOf(part["type"], allowed, `${at}.type`, "invalid_part");
  if (part["type"] === "text") checkText(part["text"], `${at}.text`);
}

/** Right behind its calls stand their results: all of them, each once, and no other. */
function checkExchanges(messages: readonly JsonObject[]): void {
  const seen = new Set<string>();
  let called = new Set<string>();
  let open = new Set<string>();
  for (const [index, message] of messages.entries()) {
    if (message["role"] === "tool") {
      checkResult(textOf(message["tool_call_id"]) ?? "", index, called, open);
      continue;
    }
    checkAnswered(open, index);
    called = new Set();
    for (const call of objectsOf(message["tool_calls"])) {
      const id = textOf(call["id"]) ?? "";
      if (seen.has(id)) {
        refuse(
          "duplicate_call_id",
          `messages[${index}].tool_calls`,
          `Duplicate value for 'id' of '${id}' in messages[${index}].tool_calls.`,
        );
      }
      seen.add(id);
      called.add(id);
    }
    open = new Set(called);
  }
  checkAnswered(open, messages.length);
}

function checkResult(id: string, index: number, called: ReadonlySet<string>, open: Set<string>): void {
  if (open.delete(id)) return;
  if (called.has(id)) {
    refuse(
      "duplicate_result",
      `messages.[${index}].tool_call_id`,
      `Duplicate value for 'tool_call_id' of '${id}' in message[${index}].`,
    );
  }
  const message =
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.";
  refuse("orphan_result", `messages.[${index}].role`, message);
}

function checkAnswered(open: ReadonlySet<string>, index: number): void {
  if (open.size === 0) return;
  const message =
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
    `The following tool_call_ids did not have response messages: ${[...open].join(", ")}`;
  refuse("missing_result", `messages.[${index}].role`, message);
}
