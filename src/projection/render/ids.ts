import { portableSha256 } from "../../thread/sha256.ts";
import type { Block, Call } from "../history/block.ts";

/** What every provider takes. */
const VALID = /^[A-Za-z0-9_-]{1,40}$/;

/**
 * The ids that the calls of a block are shown with: their own, unless a provider would refuse them. Servers number their
 * calls from 0 in each answer, so when a block repeats an id, all of its ids become new ones.
 */
export function shownIds({ calls }: Block, repeatsEarlier: boolean): readonly string[] {
  return calls.map((call, slot) => {
    const { id } = call.call;
    const isUnique = calls.every((other) => other === call || other.call.id !== id);
    return !repeatsEarlier && VALID.test(id) && isUnique ? id : madeId(call, slot);
  });
}

/** Always the same for the same call, and for no other. */
function madeId({ call, by }: Call, slot: number): string {
  const place = by.index === undefined ? [by.seq] : [by.seq, by.index];
  return `call_${portableSha256(JSON.stringify([by.callId ?? "", call.id, slot, ...place])).slice(0, 22)}`;
}

/** The name of a tool as every provider takes it. */
export function shownName(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/gu, "_").slice(0, 64) || "tool";
}
