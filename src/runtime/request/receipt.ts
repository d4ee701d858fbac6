/** Why a command was not carried out. */
export type ReceiptReason =
  | "idle"
  | "request_mismatch"
  | "empty_content"
  | "queue_full"
  | "closed"
  | "run_failed"
  | "cancelled";

/** Whether a message reached the request that was running, and at which entry, or why not. */
export type Receipt =
  | { readonly id: string; readonly delivered: true; readonly seq: number }
  | { readonly id: string; readonly delivered: false; readonly reason: ReceiptReason };

/** The answer to `steer`: `accepted` at once; `receipt` resolves when the message was delivered or dropped, and never rejects. */
export interface SteerAnswer {
  readonly id: string;
  readonly accepted: boolean;
  readonly reason?: ReceiptReason;
  readonly receipt: Promise<Receipt>;
}
