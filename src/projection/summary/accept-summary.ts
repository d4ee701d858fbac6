import type { SummaryPayload } from "../../thread/kinds.ts";
import type { Message } from "../../thread/message.ts";
import { countMessage } from "../../tokens/count.ts";
import { heuristic, type TokenCounter } from "../../tokens/counter.ts";
import { summaryText } from "../render/leading-messages.ts";
import { checkRange, coveredSeqs, type SummaryRange } from "./summary-range.ts";

/** The token counter, and the model and lane to record in the payload of the summary. */
export interface AcceptSummaryOptions {
  /** Counts the tokens of both texts. Default `heuristic`. */
  readonly tokenCounter?: TokenCounter | undefined;
  /** The model that reads the conversation, for counters that differ by model. Default none. */
  readonly model?: string | undefined;
  /** The summarized lane, in case another one is active when the summary is appended. Default the active lane. */
  readonly lane?: string | undefined;
}

/** The result of `acceptSummary`: the payload of the summary entry, or the reason for the refusal. */
export type SummaryVerdict =
  | { readonly accepted: true; readonly payload: SummaryPayload }
  | { readonly accepted: false; readonly reason: "empty" | "not_smaller" };

/**
 * Checks a summarizer's text and makes the payload of the `summary` entry. The entry covers everything from the start
 * of the previous summary to the end of the range. A blank text is refused. A text is also refused if it costs at least
 * as much as the messages (without thinking) and the previous summary.
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
  // Replaces a lone surrogate, because entries cannot contain one. A model may cut an emoji in two.
  const text = content.trim().toWellFormed();
  if (text === "") return { accepted: false, reason: "empty" };
  const cost = (messages: readonly Message[]): number =>
    messages.reduce((sum, message) => sum + countMessage(message, tokenCounter, model), 0);
  if (cost([summaryMessage(text)]) >= cost(replacedBy(range))) return { accepted: false, reason: "not_smaller" };
  const inLane = lane === undefined ? {} : { contextRef: lane };
  return { accepted: true, payload: { ...inLane, ...coveredSeqs(range), content: text } };
}

function replacedBy({ messages, previous }: SummaryRange): readonly Message[] {
  const before = previous === undefined ? [] : [summaryMessage(previous.content)];
  return [...before, ...messages.map(withoutThinking)];
}

/** Removes thinking before the costs are compared: providers drop past thinking anyway. */
function withoutThinking(message: Message): Message {
  if (message.role !== "assistant" || typeof message.content === "string") return message;
  return { ...message, content: message.content.filter((part) => part.type !== "thinking") };
}

/** The summary as a message. The role does not affect the token count. */
function summaryMessage(content: string): Message {
  return { role: "system", content: summaryText(content) };
}
