import type { SummaryPayload } from "../../thread/kinds.ts";
import type { Message } from "../../thread/message.ts";
import { ProjectionError } from "../error.ts";

/** The messages to summarize, and the entries that the summary will cover. */
export interface SummaryRange {
  /** The first entry of the range. */
  readonly fromSeq: number;
  /** The last entry of the range, and of the summary. */
  readonly toSeq: number;
  /** The messages of the range, without the system prompt and without an earlier summary. */
  readonly messages: readonly Message[];
  /** The summary of the entries before the range. The new summary replaces it. */
  readonly previous?: Pick<SummaryPayload, "fromSeq" | "toSeq" | "content"> | undefined;
}

/** The entries that the summary covers. It begins where the previous summary began. */
export function covered({ fromSeq, toSeq, previous }: SummaryRange): Pick<SummaryPayload, "fromSeq" | "toSeq"> {
  return { fromSeq: previous?.fromSeq ?? fromSeq, toSeq };
}

/** The range may overlap the previous summary, whose edge moves to before an exchange. It must not end before it. */
export function checkRange({ fromSeq, toSeq, previous }: SummaryRange): void {
  checkOrder("fromSeq", fromSeq, "toSeq", toSeq);
  if (previous === undefined) return;
  checkOrder("previous.fromSeq", previous.fromSeq, "previous.toSeq", previous.toSeq);
  checkOrder("previous.toSeq", previous.toSeq, "toSeq", toSeq);
}

function checkOrder(first: string, from: number, last: string, to: number): void {
  if (Number.isSafeInteger(from) && Number.isSafeInteger(to) && from >= 0 && from <= to) return;
  const message = `${first} and ${last} must be seqs with ${first} <= ${last}, not ${from} and ${to}.`;
  throw new ProjectionError({ code: "invalid_input", message });
}
