import type { RequestEnd } from "../../agent/react/state.ts";
import type { Failure } from "../../agent/signal.ts";
import { type ErrorText, requestErrorText } from "./error-text.ts";
import type { UIMessageMetadata } from "./message.ts";

/** How the message of a stopped or failed request is marked. A failure's text may hold secrets, its code does not. */
export function markOf(end: RequestEnd, onError: ErrorText): UIMessageMetadata | undefined {
  switch (end.status) {
    case "completed":
      return undefined;
    case "failed":
      return failedMark(end.failure, requestErrorText(end.failure, onError));
    case "cancelled":
      return cancelledMark(end.reason);
    default:
      return end satisfies never;
  }
}

export function failedMark({ code }: Failure, reason: string): UIMessageMetadata {
  return { heddle: { status: "failed", code, reason } };
}

export function cancelledMark(reason: string): UIMessageMetadata {
  return { heddle: { status: "cancelled", code: "request_cancelled", reason } };
}
