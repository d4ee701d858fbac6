import type { Message, SystemMessage, UserMessage } from "../../thread/message.ts";
import { utf8Length } from "../../tokens/utf8.ts";
import { ProjectionError } from "../error.ts";
import { framed, type Piece } from "./frame.ts";
import { entries, instructions } from "./prompt.ts";
import { checkRange, covered, type SummaryRange } from "./range.ts";
import { capped, type RecordLimits, recordOf } from "./record.ts";

export interface SummaryRequestOptions {
  /**
   * A tool result longer than this is cut to head and tail around a line that says how much is missing; 0 is never.
   * In tokens of four UTF-8 bytes, whichever counter is in use. Default `MAX_RESULT_TOKENS`.
   */
  readonly maxResultTokens?: number | undefined;
  /**
   * What the whole request may take, in the same tokens: long texts are cut to head and tail, ever shorter, until it fits.
   * A range of very many texts may be too long all the same. Default: no limit.
   */
  readonly maxTokens?: number | undefined;
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
  const { mark, text } = framed(fittingRecord(range, options));
  const asked = `Write the summary of ${entries(covered(range))} now.`;
  return {
    messages: [
      { role: "system", content: instructions(mark, covered(range), range.previous) },
      { role: "user", content: `${text}\n\n${asked}` },
    ],
  };
}

/** Shorter ends would say nothing of a text. */
const SHORTEST_TEXT = 128;

/** Bytes of the instructions and of the last line, roughly. */
const INSTRUCTIONS = 3000;

/** The record with its texts as long as there is room for them. */
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
  if (said.length === 0) throw invalid(`There is nothing to summarise in ${entries(range)}.`);
  return [...previousOf(range, limits), { line: `${entries(range)} begin` }, ...said];
}

function previousOf({ previous }: SummaryRange, { text }: RecordLimits): readonly Piece[] {
  if (previous === undefined) return [];
  return [{ line: `previous summary, of ${entries(previous)}` }, ...capped(previous.content, text)];
}

/** What the messages take in a record, in tokens of four bytes. */
export function recordTokens(messages: readonly Message[]): number {
  const pieces = recordOf(messages, { result: MAX_RESULT_TOKENS * BYTES_PER_TOKEN, text: 0 });
  return Math.ceil(sizeOf(pieces) / BYTES_PER_TOKEN);
}

/** With the mark before each line of ours, and the line break after each. */
function sizeOf(pieces: readonly Piece[]): number {
  return pieces.reduce(
    (sum, piece) => sum + ("line" in piece ? 14 + utf8Length(piece.line) : 1 + utf8Length(piece.said)),
    0,
  );
}

function bytesOf(name: string, tokens: number): number {
  if (Number.isSafeInteger(tokens) && tokens >= 0) return tokens * BYTES_PER_TOKEN;
  throw invalid(`${name} must be a whole number from 0 on, not ${tokens}.`);
}

function invalid(message: string): ProjectionError {
  return new ProjectionError({ code: "invalid_input", message });
}
