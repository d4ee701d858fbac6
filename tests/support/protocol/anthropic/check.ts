import type { JsonObject } from "heddle";
import type { Asked } from "../api.ts";
import { countOf, listOf, objectOf, objectsOf, textOf } from "../json.ts";
import { Refused } from "../problem.ts";
import { refuse } from "./errors.ts";
import { checkExchanges } from "./exchanges.ts";
import { refusesPrefill, takesSystemMessages } from "./models.ts";
import { checkThinking } from "./thinking.ts";
import { blocksOf, checkTextBlock, type Turn, turnsOf } from "./turns.ts";

const TOOL_NAME = /^[a-zA-Z0-9_-]{1,128}$/;
const MAX_MARKS = 4;

/** What the Messages API refuses. */
export function checkAnthropic(asked: Asked): void {
  const { body, headers, model } = asked;
  if (headers["x-api-key"] === undefined && headers.authorization === undefined) {
    throw new Refused({
      rule: "no_api_key",
      status: 401,
      type: "authentication_error",
      message: "x-api-key header is required",
    });
  }
  if (headers["anthropic-version"] === undefined) refuse("no_version", "anthropic-version: header is required");
  for (const field of ["model", "max_tokens", "messages"]) {
    if (body[field] === undefined) refuse("missing_field", `${field}: Field required`);
  }
  checkTools(body);
  for (const [index, block] of blocksOf(body["system"]).entries()) checkTextBlock(block, `system.${index}`, "system");

  const messages = objectsOf(body["messages"]);
  if (messages.length === 0) refuse("empty_list", "messages: at least one message is required");
  const turns = turnsOf(messages, takesSystemMessages(model, headers));
  if (turns[0]?.role !== "user") refuse("first_not_user", 'messages: first message must use the "user" role');
  for (const turn of turns) checkBlocks(turn);
  checkExchanges(turns);
  checkSearches(turns);
  checkEnd(turns, model);
  checkMarks(body);
  checkThinking(turns, asked);
}

function checkTools({ tools, tool_choice }: JsonObject): void {
  const names = new Set<string>();
  for (const [index, tool] of objectsOf(tools).entries()) {
    const name = textOf(tool["name"]) ?? "";
    if (tool["type"] !== undefined && tool["type"] !== "custom") continue; // a tool of Anthropic's own
    if (!TOOL_NAME.test(name)) {
      refuse("invalid_tool_name", `tools.${index}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`);
    }
    if (names.has(name)) refuse("duplicate_tool", "tools: Tool names must be unique.");
    names.add(name);
    if (tool["input_schema"] === undefined) {
      refuse("invalid_tool_schema", `tools.${index}.custom.input_schema: Field required`);
    }
    if (objectOf(tool["input_schema"])["type"] !== "object") {
      refuse("invalid_tool_schema", `tools.${index}.custom.input_schema.type: Input should be 'object'`);
    }
  }
  if (tool_choice !== undefined && listOf(tools).length === 0) {
    refuse("tool_choice_without_tools", "tool_choice: tool_choice may only be specified while providing tools");
  }
}

function checkBlocks({ role, blocks }: Turn): void {
  for (const { block, at } of blocks) {
    const type = textOf(block["type"]) ?? "";
    const mine = { user: USER_BLOCKS, assistant: ASSISTANT_BLOCKS, system: SYSTEM_BLOCKS }[role] ?? [];
    if (!mine.includes(type)) {
      refuse("invalid_part", `${at}: \`${type}\` blocks can not be in \`${role}\` messages`);
    }
    if (type === "text") checkTextBlock(block, at);
    if (type === "tool_result") checkResult(block, at);
  }
}

const SYSTEM_BLOCKS = ["text"];
const USER_BLOCKS = ["text", "image", "document", "search_result", "tool_result"];
const ASSISTANT_BLOCKS = [
  "text",
  "thinking",
  "redacted_thinking",
  "tool_use",
  "server_tool_use",
  "web_search_tool_result",
];

function checkResult({ content, is_error }: JsonObject, at: string): void {
  if (typeof content === "string" || content === undefined) return;
  for (const [index, part] of objectsOf(content).entries()) {
    if (part["type"] === "text") checkTextBlock(part, `${at}.tool_result.content.${index}`);
    else if (is_error === true) {
      refuse("error_result_with_image", `${at}.tool_result: all content must be type "text" if \`is_error\` is true`);
    }
  }
}

/** The result of a server tool stands behind its call in one turn. */
function checkSearches(turns: readonly Turn[]): void {
  for (const { at, blocks } of turns.slice(0, isPaused(turns) ? -1 : undefined)) {
    const open = new Set<string>();
    for (const { block, at } of blocks) {
      if (block["type"] === "server_tool_use") open.add(textOf(block["id"]) ?? "");
      if (block["type"] !== "web_search_tool_result" || open.delete(textOf(block["tool_use_id"]) ?? "")) continue;
      refuse("orphan_result", `${at}: unexpected \`tool_use_id\` found in \`web_search_tool_result\` blocks`);
    }
    if (open.size > 0) refuse("missing_result", `${at}: \`web_search\` tool use without a corresponding result block`);
  }
}

/** A turn that ended with a call of a server tool is sent back as it is. */
function isPaused(turns: readonly Turn[]): boolean {
  return turns.at(-1)?.blocks.at(-1)?.block["type"] === "server_tool_use";
}

function checkEnd(turns: readonly Turn[], model: string): void {
  const last = turns.at(-1);
  if (last?.role !== "assistant" || isPaused(turns)) return;
  if (refusesPrefill(model)) {
    const message =
      "This model does not support assistant message prefill. The conversation must end with a user message.";
    refuse("trailing_assistant", message);
  }
  if (/\s$/.test(textOf(last.blocks.at(-1)?.block["text"]) ?? "")) {
    refuse("trailing_whitespace", "messages: final assistant content cannot end with trailing whitespace");
  }
}

function checkMarks({ system, messages, tools }: JsonObject): void {
  for (const [index, message] of objectsOf(messages).entries()) {
    for (const [place, block] of blocksOf(message["content"]).entries()) {
      const type = textOf(block["type"]) ?? "";
      if (/thinking/.test(type) && block["cache_control"] !== undefined) {
        const message = `messages.${index}.content.${place}.${type}.cache_control: Extra inputs are not permitted`;
        refuse("marked_thinking", message);
      }
    }
  }
  const marks = countOf("cache_control", [system ?? null, messages ?? null, tools ?? null]);
  if (marks > MAX_MARKS) {
    refuse("too_many_marks", `A maximum of ${MAX_MARKS} blocks with cache_control may be provided. Found ${marks}.`);
  }
}
