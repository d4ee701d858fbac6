import type { SystemMessage, UserMessage } from "../../thread/message.ts";
import { ProjectionError } from "../error.ts";
import { framed, type Piece } from "./frame.ts";
import { entries, instructions } from "./prompt.ts";
import { checkRange, covered, type SummaryRange } from "./range.ts";
import { recordOf } from "./record.ts";

export interface SummaryRequestOptions {
  /**
   * A tool result longer than this is cut to head and tail around a line that says how much is missing; 0 is never.
   * In tokens of four UTF-8 bytes, whichever counter is in use. Default `MAX_RESULT_TOKENS`.
   */
  readonly maxResultTokens?: number | undefined;
}

/** What a summariser model is asked with. */
export interface SummaryRequest {
  readonly messages: readonly [SystemMessage, UserMessage];
}

/** Some 200 lines of code: enough to see what a result was about. */
export const MAX_RESULT_TOKENS = 2000;

const BYTES_PER_TOKEN = 4;

/**
 * The prompt of the default summariser: instructions, and the previous summary and the range as one quoted record that
 * nothing in it can leave. Thinking is not in it. Equal input gives equal bytes. A range without anything to read is a
 * ProjectionError of code `invalid_input`.
 *
 * @example
 * const { messages } = summaryRequest({
 *   fromSeq: 0,
 *   toSeq: 1,
 *   messages: [
 *     { role: "user", content: "What's 2+2?" },
 *     { role: "assistant", content: "4" },
 *   ],
 * });
 * messages.map(({ role }) => role); // ["system", "user"]
 */
export function summaryRequest(range: SummaryRange, options: SummaryRequestOptions = {}): SummaryRequest {
  checkRange(range);
  const said = recordOf(range.messages, maxBytesOf(options));
  if (said.length === 0) throw invalid(`There is nothing to summarise in ${entries(range)}.`);
  const { mark, text } = framed([...previousOf(range), { line: `${entries(range)} begin` }, ...said]);
  const asked = `Write the summary of ${entries(covered(range))} now.`;
  return {
    messages: [
      { role: "system", content: instructions(mark, covered(range), range.previous) },
      { role: "user", content: `${text}\n\n${asked}` },
    ],
  };
}

function previousOf({ previous }: SummaryRange): readonly Piece[] {
  if (previous === undefined) return [];
  return [{ line: `previous summary, of ${entries(previous)}` }, { said: previous.content }];
}

function maxBytesOf({ maxResultTokens = MAX_RESULT_TOKENS }: SummaryRequestOptions): number {
  if (Number.isSafeInteger(maxResultTokens) && maxResultTokens >= 0) return maxResultTokens * BYTES_PER_TOKEN;
  throw invalid(`maxResultTokens must be a whole number from 0 on, not ${maxResultTokens}.`);
}

function invalid(message: string): ProjectionError {
  return new ProjectionError({ code: "invalid_input", message });
}
