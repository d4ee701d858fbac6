import type { Message, SystemMessage, UserMessage } from "../../thread/message.ts";
import { utf8Length } from "../../tokens/utf8.ts";
import { ProjectionError } from "../error.ts";
import { framed, type Piece } from "./frame.ts";
import { entries, instructions } from "./prompt.ts";
import { checkRange, covered, type SummaryRange } from "./range.ts";
import { capped, type RecordLimits, recordOf } from "./record.ts";

export interface SummaryRequestOptions {
  /**
   * A tool result longer than this is cut to head and tail around a line that says how much is missing. 0 is no limit.
   * In tokens of four UTF-8 bytes, whichever counter is in use. Default `MAX_RESULT_TOKENS`.
   */
  readonly maxResultTokens?: number | undefined;
  /**
   * The limit of the whole request, in the same tokens. Long texts are cut to head and tail, shorter and shorter, until it
   * fits. A range of very many texts may still be too long. Default: no limit.
   */
  readonly maxTokens?: number | undefined;
}

/** The messages for a summarizer model. */
export interface SummaryRequest {
  readonly messages: readonly [SystemMessage, UserMessage];
}

/** About 200 lines of code, enough to see what a result is about. */
export const MAX_RESULT_TOKENS = 2000;

const BYTES_PER_TOKEN = 4;

/**
 * The prompt of the default summarizer: instructions, then the previous summary and the range as one quoted record. Texts
 * in the record cannot break out of it. It holds no thinking. Equal input gives equal bytes. A range without any text
 * throws a ProjectionError with code `invalid_input`.
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
  const { mark, text } = framed(fittingRecord(range, options));
  const asked = `Write the summary of ${entries(covered(range))} now.`;
  return {
    messages: [
      { role: "system", content: instructions(mark, covered(range), range.previous) },
      { role: "user", content: `${text}\n\n${asked}` },
    ],
  };
}

/** In bytes. Shorter texts would be useless. */
const SHORTEST_TEXT = 128;

/** The approximate bytes of the instructions and the last line. */
const INSTRUCTIONS = 3000;

/** The record with texts as long as the limit allows. */
function fittingRecord(range: SummaryRange, options: SummaryRequestOptions): readonly Piece[] {
  const result = bytesOf("maxResultTokens", options.maxResultTokens ?? MAX_RESULT_TOKENS);
  const room = bytesOf("maxTokens", options.maxTokens ?? 0) - INSTRUCTIONS;
  if (options.maxTokens === undefined) return record(range, { result, text: 0 });
  for (let text = Math.max(SHORTEST_TEXT, Math.floor(room / 2)); ; text = Math.max(SHORTEST_TEXT, text >> 1)) {
    const pieces = record(range, { result: result === 0 ? text : Math.min(result, text), text });
    if (text === SHORTEST_TEXT || sizeOf(pieces) <= room) return pieces;
  }
}

function record(range: SummaryRange, limits: RecordLimits): readonly Piece[] {
  const said = recordOf(range.messages, limits);
  if (said.length === 0) throw invalid(`There is nothing to summarize in ${entries(range)}.`);
  return [...previousOf(range, limits), { line: `${entries(range)} begin` }, ...said];
}

function previousOf({ previous }: SummaryRange, { text }: RecordLimits): readonly Piece[] {
  if (previous === undefined) return [];
  return [{ line: `previous summary, of ${entries(previous)}` }, ...capped(previous.content, text)];
}

/** The size of the messages in a record, in tokens of four bytes. */
export function recordTokens(messages: readonly Message[]): number {
  const pieces = recordOf(messages, { result: MAX_RESULT_TOKENS * BYTES_PER_TOKEN, text: 0 });
  return Math.ceil(sizeOf(pieces) / BYTES_PER_TOKEN);
}

/** Counts the mark before each line of Heddle, and all line breaks. */
function sizeOf(pieces: readonly Piece[]): number {
  return pieces.reduce(
    (sum, piece) => sum + ("line" in piece ? 14 + utf8Length(piece.line) : 1 + utf8Length(piece.said)),
    0,
  );
}

function bytesOf(name: string, tokens: number): number {
  if (Number.isSafeInteger(tokens) && tokens >= 0) return tokens * BYTES_PER_TOKEN;
  throw invalid(`${name} must be a whole number of at least 0, not ${tokens}.`);
}

function invalid(message: string): ProjectionError {
  return new ProjectionError({ code: "invalid_input", message });
}
