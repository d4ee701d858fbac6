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

/** Keeps the record and its epoch, because each claim needs a higher epoch than all before. */
export function decideRelease(threadId: string, epoch: number, { claim }: ThreadState): Decision<undefined> {
  return { result: undefined, claim: { ...held(threadId, epoch, claim), until: RELEASED } };
}

/** Marks a released claim. It cannot be renewed; an expired one can. */
const RELEASED = 0;

/** At most the last moment that a Date can hold, so that the end of an unlimited claim can be shown and stored. */
function endOf(now: number, ttlMs: number): number {
  return Math.min(now + ttlMs, 8.64e15);
}

function held(threadId: string, epoch: number, claim: ClaimRecord | undefined): ClaimRecord {
  if (claim?.epoch === epoch) return claim;
  throw staleHolder(threadId, epoch, claim);
}

/** The error names the current holder, unless that claim was released. */
export function staleHolder(threadId: string, epoch: number, claim: ClaimRecord | undefined): StaleHolderError {
  const since = claim === undefined || claim.until === RELEASED ? undefined : claim;
  return new StaleHolderError(threadId, epoch, claim?.epoch ?? 0, since);
}

function granted(claim: ClaimRecord): Decision<ClaimResult> {
  return { claim, result: { epoch: claim.epoch, until: claim.until } };
}
