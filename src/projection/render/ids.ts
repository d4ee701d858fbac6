import { portableSha256 } from "../../thread/sha256.ts";
import type { Block, Call } from "../history/block.ts";

/** Ids that every provider accepts, except ids in the form of `madeId`, which could equal a made one. */
const VALID = /^(?!hd_[\w-]{22,37}$)[A-Za-z0-9_-]{1,40}$/;

/**
 * The ids under which the calls of a block are shown: their own, unless a provider would refuse them. Some servers number
 * calls from 0 in each answer. So when a block repeats an earlier id, all of its ids are replaced.
 */
export function shownIds({ calls }: Block, repeatsEarlier: boolean): readonly string[] {
  const uses = new Map<string, number>();
  for (const { call } of calls) uses.set(call.id, (uses.get(call.id) ?? 0) + 1);
  return calls.map((call, slot) => {
    const { id } = call.call;
    return !repeatsEarlier && VALID.test(id) && uses.get(id) === 1 ? id : madeId(call, slot);
  });
}

/** A unique, stable id for a call. It is as long as the old id if possible, so that it does not cost less. */
function madeId({ call, by }: Call, slot: number): string {
  const place = by.index === undefined ? [by.seq] : [by.seq, by.index];
  const hash = portableSha256(JSON.stringify([by.callId ?? "", call.id, slot, ...place]));
  return `hd_${hash.slice(0, Math.min(37, Math.max(22, call.id.length - 3)))}`;
}

/** The name of a tool in a form that every provider accepts. */
export function shownName(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/gu, "_").slice(0, 64) || "tool";
}
