import type { SummaryPayload } from "../../thread/kinds.ts";
import type { Message } from "../../thread/message.ts";
import { ProjectionError } from "../error.ts";

/** What a summary is to be made of, and what it will stand for. */
export interface SummaryRange {
  /** The first entry of the range. */
  readonly fromSeq: number;
  /** The last entry of the range, and the last one that the summary covers. */
  readonly toSeq: number;
  /** What was said in the range, without the system prompt and without an earlier summary. */
  readonly messages: readonly Message[];
  /** The summary of what stands before the range: the new one takes its place too. */
  readonly previous?: Pick<SummaryPayload, "fromSeq" | "toSeq" | "content"> | undefined;
}

/** The entries that the summary covers: a rolling one begins where the previous one began. */
export function covered({ fromSeq, toSeq, previous }: SummaryRange): Pick<SummaryPayload, "fromSeq" | "toSeq"> {
  return { fromSeq: previous?.fromSeq ?? fromSeq, toSeq };
}

/** The range may overlap the previous summary, whose edge was moved to before an exchange, but never end before it. */
export function checkRange({ fromSeq, toSeq, previous }: SummaryRange): void {
  checkOrder("fromSeq", fromSeq, "toSeq", toSeq);
  if (previous === undefined) return;
  checkOrder("previous.fromSeq", previous.fromSeq, "previous.toSeq", previous.toSeq);
  checkOrder("previous.toSeq", previous.toSeq, "toSeq", toSeq);
}

function checkOrder(first: string, from: number, last: string, to: number): void {
  if (Number.isSafeInteger(from) && Number.isSafeInteger(to) && from >= 0 && from <= to) return;
  const message = `${first} must be a seq, and ${last} one that is not before it; they are ${from} and ${to}.`;
  throw new ProjectionError({ code: "invalid_input", message });
}
