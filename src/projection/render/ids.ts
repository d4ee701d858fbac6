import { portableSha256 } from "../../thread/sha256.ts";
import type { Block, Call } from "../history/block.ts";

/** What every provider takes, but for ids as we make them: those could be taken for one of ours. */
const VALID = /^(?!hd_[\w-]{22,37}$)[A-Za-z0-9_-]{1,40}$/;

/**
 * The ids that the calls of a block are shown with: their own, unless a provider would refuse them. Servers number their
 * calls from 0 in each answer, so when a block repeats an id, all of its ids become new ones.
 */
export function shownIds({ calls }: Block, repeatsEarlier: boolean): readonly string[] {
  const uses = new Map<string, number>();
  for (const { call } of calls) uses.set(call.id, (uses.get(call.id) ?? 0) + 1);
  return calls.map((call, slot) => {
    const { id } = call.call;
    return !repeatsEarlier && VALID.test(id) && uses.get(id) === 1 ? id : madeId(call, slot);
  });
}

/** Always the same for the same call, and for no other; as long as its own, so that a new id never costs less. */
function madeId({ call, by }: Call, slot: number): string {
  const place = by.index === undefined ? [by.seq] : [by.seq, by.index];
  const hash = portableSha256(JSON.stringify([by.callId ?? "", call.id, slot, ...place]));
  return `hd_${hash.slice(0, Math.min(37, Math.max(22, call.id.length - 3)))}`;
}

/** The name of a tool as every provider takes it. */
export function shownName(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/gu, "_").slice(0, 64) || "tool";
}
