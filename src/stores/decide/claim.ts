import type { ClaimRecord, Decision, ThreadState } from "../driver.ts";
import { StaleHolderError, ThreadHeldError } from "../errors.ts";
import type { ClaimOptions, ClaimResult } from "../port.ts";

export function decideClaim(
  threadId: string,
  { holder, ttlMs }: ClaimOptions,
  { claim, now }: ThreadState,
): Decision<ClaimResult> {
  if (claim !== undefined && claim.until > now && claim.holder !== holder) {
    throw new ThreadHeldError(threadId, claim.holder, claim.until);
  }
  return granted({ holder, ttlMs, epoch: (claim?.epoch ?? 0) + 1, until: endOf(now, ttlMs) });
}

export function decideRenew(threadId: string, epoch: number, { claim, now }: ThreadState): Decision<ClaimResult> {
  const current = held(threadId, epoch, claim);
  if (current.until === RELEASED) throw new StaleHolderError(threadId, epoch, epoch);
  return granted({ ...current, until: endOf(now, current.ttlMs) });
}

/** The record stays with its epoch: the next claim has to be newer than every one before. */
export function decideRelease(threadId: string, epoch: number, { claim }: ThreadState): Decision<undefined> {
  return { result: undefined, claim: { ...held(threadId, epoch, claim), until: RELEASED } };
}

/** Never a time that ran out: who let go has to claim anew. */
const RELEASED = 0;

/** No later than the last moment a Date can name: a claim "for ever" has an end that can be shown and stored. */
function endOf(now: number, ttlMs: number): number {
  return Math.min(now + ttlMs, 8.64e15);
}

function held(threadId: string, epoch: number, claim: ClaimRecord | undefined): ClaimRecord {
  if (claim?.epoch === epoch) return claim;
  throw staleHolder(threadId, epoch, claim);
}

/** Names who claimed the thread since, as long as that claim was not released. */
export function staleHolder(threadId: string, epoch: number, claim: ClaimRecord | undefined): StaleHolderError {
  const since = claim === undefined || claim.until === RELEASED ? undefined : claim;
  return new StaleHolderError(threadId, epoch, claim?.epoch ?? 0, since);
}

function granted(claim: ClaimRecord): Decision<ClaimResult> {
  return { claim, result: { epoch: claim.epoch, until: claim.until } };
}
