import type { SummaryPayload } from "../../thread/kinds.ts";
import type { Message } from "../../thread/message.ts";
import { countMessage } from "../../tokens/count.ts";
import type { TokenCounter } from "../../tokens/counter.ts";
import { heuristic } from "../../tokens/heuristic.ts";
import { summaryText } from "../render/summary-text.ts";
import { checkRange, covered, type SummaryRange } from "./range.ts";

export interface AcceptSummaryOptions {
  /** Default `heuristic`. */
  readonly tokenCounter?: TokenCounter | undefined;
  /** The model that reads the conversation, for counters that differ by model. Default none. */
  readonly model?: string | undefined;
  /** The summarized lane, in case another one is active when the summary is appended. Default the active lane. */
  readonly lane?: string | undefined;
}

/** Whether a summary is accepted: the payload of its entry, or the reason for refusal. */
export type SummaryVerdict =
  | { readonly accepted: true; readonly payload: SummaryPayload }
  | { readonly accepted: false; readonly reason: "empty" | "not_smaller" };

/**
 * Checks a summarizer's text for a range and makes the payload of the `summary` entry. The entry covers everything from
 * the start of the previous summary to the end of the range. A blank text is refused. So is one that costs at least as
 * much as it replaces: the messages without their thinking, and the previous summary.
 *
 * @example
 * const messages = [{ role: "user", content: "Tell me all about it. ".repeat(20) }] as const;
 * acceptSummary({ fromSeq: 0, toSeq: 0, messages }, "The user asked to be told all about it.").accepted; // true
 */
export function acceptSummary(
  range: SummaryRange,
  content: string,
  { tokenCounter = heuristic, model, lane }: AcceptSummaryOptions = {},
): SummaryVerdict {
  checkRange(range);
  // A model may cut an emoji in two, and an entry cannot hold a lone surrogate.
  const text = content.trim().toWellFormed();
  if (text === "") return { accepted: false, reason: "empty" };
  const cost = (messages: readonly Message[]): number =>
    messages.reduce((sum, message) => sum + countMessage(message, tokenCounter, model), 0);
  if (cost([summaryMessage(text)]) >= cost(replacedBy(range))) return { accepted: false, reason: "not_smaller" };
  const inLane = lane === undefined ? {} : { contextRef: lane };
  return { accepted: true, payload: { ...inLane, ...covered(range), content: text } };
}

function replacedBy({ messages, previous }: SummaryRange): readonly Message[] {
  const before = previous === undefined ? [] : [summaryMessage(previous.content)];
  return [...before, ...messages.map(withoutThinking)];
}

/** Providers drop past thinking anyway, so leaving it out saves nothing. */
function withoutThinking(message: Message): Message {
  if (message.role !== "assistant" || typeof message.content === "string") return message;
  return { ...message, content: message.content.filter((part) => part.type !== "thinking") };
}

/** A summary as it is shown. The role does not affect the cost. */
function summaryMessage(content: string): Message {
  return { role: "system", content: summaryText(content) };
}
