import type { Decision, ThreadState } from "../driver.ts";
import { LeaseEndedError, StaleHolderError, ThreadHeldError } from "../errors.ts";
import type { ClaimResult, LeaseKey } from "../port.ts";
import type { ClaimRecord } from "../stored-records.ts";
import { endedLeases, keyOf, liveLease, RELEASED } from "./lease.ts";

/** The checked options of a claim: it lasts for a time of its own, or as long as a lease. */
export type ClaimRequest = { readonly holder: string } & (
  | { readonly ttlMs: number; readonly lease?: undefined }
  | { readonly lease: LeaseKey; readonly ttlMs?: undefined }
);

export function decideClaim(threadId: string, request: ClaimRequest, state: ThreadState): Decision<ClaimResult> {
  const { claim, now, leases = [] } = state;
  const next = newClaim(request, (claim?.epoch ?? 0) + 1, state);
  const heldUntil = claim && endOfClaim(claim, state);
  if (claim !== undefined && heldUntil !== undefined && heldUntil > now && claim.holder !== request.holder)
    throw new ThreadHeldError(threadId, claim.holder, heldUntil);
  const ended = claim === undefined ? [] : endedLeases(claim, request, leases, now);
  return { ...granted(next), ...(ended.length > 0 && { leases: ended }) };
}

function newClaim(request: ClaimRequest, epoch: number, { leases = [], now }: ThreadState): ClaimRecord {
  const { holder } = request;
  if (request.lease === undefined) return { holder, epoch, until: endOf(now, request.ttlMs), ttlMs: request.ttlMs };
  const lease = liveLease(request.lease, leases, now);
  if (lease === undefined) throw new LeaseEndedError(request.lease);
  return { holder, epoch, until: lease.until, ttlMs: lease.ttlMs, lease: keyOf(lease) };
}

/** When the claim ends or has ended. Undefined when it was released or its lease is over. */
function endOfClaim(claim: ClaimRecord, { leases = [], now }: ThreadState): number | undefined {
  if (claim.until === RELEASED) return undefined;
  return claim.lease === undefined ? claim.until : liveLease(claim.lease, leases, now)?.until;
}

/** A claim that names a lease lasts as long as the lease. */
export function decideRenew(threadId: string, epoch: number, state: ThreadState): Decision<ClaimResult> {
  const until = state.claim && endOfClaim(state.claim, state);
  const current = held(threadId, epoch, state.claim, until);
  if (current.until === RELEASED) throw new StaleHolderError(threadId, epoch, epoch);
  if (current.lease === undefined) return granted({ ...current, until: endOf(state.now, current.ttlMs) });
  if (until === undefined) throw new LeaseEndedError(current.lease);
  return { result: { epoch, until } };
}

/** Keeps the record and its epoch, because each claim needs a higher epoch than all before. */
export function decideRelease(threadId: string, epoch: number, { claim }: ThreadState): Decision<undefined> {
  return { result: undefined, claim: { ...held(threadId, epoch, claim), until: RELEASED } };
}

/** At most the last moment that a Date can hold, so that the end of an unlimited claim can be shown and stored. */
function endOf(now: number, ttlMs: number): number {
  return Math.min(now + ttlMs, 8.64e15);
}

/** `until` is for the error: the end of a lease that was renewed since the claim. */
function held(
  threadId: string,
  epoch: number,
  claim: ClaimRecord | undefined,
  until: number | undefined = claim?.until,
): ClaimRecord {
  if (claim?.epoch === epoch) return claim;
  throw staleHolder(threadId, epoch, claim && { ...claim, until: until ?? claim.until });
}

/** The error names the current holder, unless that claim was released. */
export function staleHolder(threadId: string, epoch: number, claim: ClaimRecord | undefined): StaleHolderError {
  const since = claim === undefined || claim.until === RELEASED ? undefined : claim;
  return new StaleHolderError(threadId, epoch, claim?.epoch ?? 0, since);
}

function granted(claim: ClaimRecord): Decision<ClaimResult> {
  return { claim, result: { epoch: claim.epoch, until: claim.until } };
}
