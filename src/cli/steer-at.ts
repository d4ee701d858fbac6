import { pathOf } from "./calls.ts";
import type { Place } from "./place.ts";

export interface Words {
  readonly content: string;
  readonly kind: "steer" | "follow_up" | "inject";
  readonly source?: string | undefined;
  readonly requestId?: string | undefined;
}

export interface Steered {
  readonly id: string;
  readonly accepted: boolean;
  readonly reason?: string;
}

/** Sends text to the running request. The server answers 409 for text that it does not accept; that is no error here. */
export function steerAt(place: Place, threadId: string, words: Words): Promise<Steered> {
  return place.post<Steered>(pathOf(threadId, "steer"), words, [409]);
}

const REASONS: { readonly [reason: string]: string } = {
  idle: "no request is running in this thread",
  request_mismatch: "another request is running",
  queue_full: "too many messages are waiting already",
  empty_content: "the text is empty",
  closed: "the request is ending",
};

/** Why the text was not delivered, in words. */
export function reasonTold(reason: string | undefined): string {
  return (reason === undefined ? undefined : REASONS[reason]) ?? reason ?? "the reason is unknown";
}
