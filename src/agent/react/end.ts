import { isPlainObject, type JsonObject } from "../../thread/json.ts";
import type { TerminationReason } from "../event.ts";
import type { Failure } from "../failure.ts";

/** How a request ended. Stored in `payload.end` of its last entry. */
export type RequestEnd =
  | { readonly status: "completed"; readonly terminationReason: TerminationReason }
  | { readonly status: "failed"; readonly failure: Failure }
  | { readonly status: "cancelled"; readonly reason: string };

/** How the request ended, if this payload is from its last entry. */
export function endIn(payload: JsonObject): RequestEnd | undefined {
  const { end } = payload;
  return isPlainObject(end) && typeof end["status"] === "string" ? (end as RequestEnd) : undefined; // written by us
}
