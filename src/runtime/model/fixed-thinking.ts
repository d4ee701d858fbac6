import { piecesOf } from "../../providers/parts.ts";
import { readablePieces } from "../../providers/thinking.ts";
import { isPlainObject } from "../../thread/json.ts";
import type { AssistantMessage, Message, PartMetadata } from "../../thread/message.ts";

/**
 * Claude with a fixed budget wants the thinking that a tool loop began with, also when the window has left it out, and
 * refuses the loop without it. Such a loop goes on without thinking; the next ask has it again.
 */
export function withFixedThinking(options: PartMetadata, messages: readonly Message[]): PartMetadata {
  const { anthropic } = options;
  if (anthropic === undefined || !isPlainObject(anthropic["thinking"])) return options;
  if (anthropic["thinking"]["type"] !== "enabled" || !goesOnBlankly(messages)) return options;
  return { ...options, anthropic: { ...anthropic, thinking: { type: "disabled" } } };
}

/** Whether the list ends in results of a loop of which no answer shows its thinking. */
function goesOnBlankly(messages: readonly Message[]): boolean {
  const last = messages.findLastIndex(({ role }) => role === "assistant");
  if (messages[last + 1]?.role !== "tool") return false;
  // What was steered in stands behind results, and is no new turn.
  const ask = messages.findLastIndex(
    ({ role }, index) => index < last && role === "user" && messages[index - 1]?.role !== "tool",
  );
  return !messages.slice(ask + 1).some((message) => message.role === "assistant" && thinks(message));
}

function thinks(message: AssistantMessage): boolean {
  return readablePieces(piecesOf(message), "anthropic").some(({ type }) => type === "thinking");
}
