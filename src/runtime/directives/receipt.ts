import type { Directive } from "../../agent/directive.ts";
import type { ReactAgent } from "../../agent/react/agent.ts";
import type { Receipt, ReceiptReason } from "../request/receipt.ts";
import type { Scene } from "./scene.ts";

/** Whoever steered is told what became of it. */
export function receipt(
  { receipts }: Scene,
  { id, delivered, entryId, reason }: Extract<Directive, { type: "receipt" }>,
  { thread }: ReactAgent,
): void {
  receipts.settle(id, delivered ? { id, delivered, seq: seqOf(thread, entryId) } : refused(id, reason));
}

function seqOf(thread: ReactAgent["thread"], entryId: string | undefined): number {
  for (let seq = thread.lastSeq; seq >= thread.firstSeq; seq--) if (thread.at(seq)?.id === entryId) return seq;
  return thread.lastSeq;
}

function refused(id: string, reason = "closed"): Receipt {
  return { id, delivered: false, reason: reason as ReceiptReason }; // the core knows no other words
}
