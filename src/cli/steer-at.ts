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

/** Says something to the request that is at work. What is not accepted is told with 409, as an answer of its own. */
export function steerAt(place: Place, threadId: string, words: Words): Promise<Steered> {
  return place.post<Steered>(pathOf(threadId, "steer"), words, [409]);
}

const REASONS: { readonly [reason: string]: string } = {
  idle: "no request is at work in this thread",
  request_mismatch: "another request is at work",
  queue_full: "too much waits to be said already",
  empty_content: "it says nothing",
  closed: "the request is being ended",
};

/** Why something was not delivered, in words. */
export function reasonTold(reason: string | undefined): string {
  return (reason === undefined ? undefined : REASONS[reason]) ?? reason ?? "nobody says why";
}
