export type ReceiptReason =
  | "idle"
  | "request_mismatch"
  | "empty_content"
  | "queue_full"
  | "closed"
  | "run_failed"
  | "cancelled";

/** What became of words on their way into a request. */
export type Receipt =
  | { readonly id: string; readonly delivered: true; readonly seq: number }
  | { readonly id: string; readonly delivered: false; readonly reason: ReceiptReason };

/** The answer to `steer`: whether it was taken, and in the end what became of it. The receipt never rejects. */
export interface SteerAnswer {
  readonly id: string;
  readonly accepted: boolean;
  readonly reason?: ReceiptReason;
  readonly receipt: Promise<Receipt>;
}
