import type { Decision, LeaseDecision, LeaseState, ThreadState } from "../driver.ts";
import { LeaseEndedError, StaleHolderError, ThreadHeldError } from "../errors.ts";
import type { Lease } from "../lease.ts";
import type { ClaimResult, LeaseKey } from "../port.ts";
import type { ClaimRecord, LeaseRecord } from "../stored-records.ts";

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

/** The end of a claim that was released. It cannot be renewed; an expired one can. */
const RELEASED = 0;

/** A lease that has been over for this long is removed. A claim that names a missing lease is over too. */
const KEEP_LEASES_MS = 7 * 24 * 60 * 60 * 1000;
/** One that its node has ended is removed sooner, because a server that lives for one request leaves one behind. */
const KEEP_ENDED_MS = 60 * 60 * 1000;

export function decideStart(node: string, ttlMs: number, { lease, now }: LeaseState): LeaseDecision<Lease> {
  // Never an incarnation of a lease that was removed: they grow with the clock.
  const incarnation = Math.max(now, (lease?.incarnation ?? 0) + 1);
  return written({ node, incarnation, until: now + ttlMs, ttlMs, ended: false }, now - KEEP_LEASES_MS);
}

/** An expired lease is renewed too, unless another node has seen that it was expired. */
export function decideRenewLease(key: LeaseKey, { lease, now }: LeaseState): LeaseDecision<Lease> {
  if (lease === undefined || lease.ended || !isSameLease(lease, key)) throw new LeaseEndedError(key);
  return written({ ...lease, until: now + lease.ttlMs });
}

export function decideEndLease(key: LeaseKey, { lease, now }: LeaseState): LeaseDecision<undefined> {
  if (lease === undefined || lease.ended || !isSameLease(lease, key)) return { result: undefined };
  const until = Math.min(lease.until, now - KEEP_LEASES_MS + KEEP_ENDED_MS);
  return { result: undefined, lease: { ...lease, until, ended: true } };
}

function written(lease: LeaseRecord, purgeBefore?: number): LeaseDecision<Lease> {
  const { node, incarnation, until } = lease;
  return { result: { node, incarnation, until }, lease, ...(purgeBefore !== undefined && { purgeBefore }) };
}

function keyOf({ node, incarnation }: LeaseKey): LeaseKey {
  return { node, incarnation };
}

export function isSameLease(a: LeaseKey, b: LeaseKey): boolean {
  return a.node === b.node && a.incarnation === b.incarnation;
}

/** The lease with this key while it lasts. One that is missing was removed after its end. */
export function liveLease(key: LeaseKey, leases: readonly LeaseRecord[], now: number): LeaseRecord | undefined {
  return leases.find((lease) => isSameLease(lease, key) && !lease.ended && lease.until > now);
}

/**
 * The lease that a claim names, if it has expired, or if its holder claims again under another lease: the process with that
 * name was restarted. It is marked as ended, so that it can never be renewed.
 */
function endedLeases(
  { lease: key, holder, until }: ClaimRecord,
  next: { readonly holder: string; readonly lease?: LeaseKey | undefined },
  leases: readonly LeaseRecord[],
  now: number,
): readonly LeaseRecord[] {
  if (key === undefined) return [];
  const isSame = next.lease !== undefined && isSameLease(next.lease, key);
  const isRestarted = until !== RELEASED && holder === next.holder && !isSame;
  const found = leases.filter(
    (lease) => isSameLease(lease, key) && !lease.ended && (isRestarted || lease.until <= now),
  );
  return found.map((lease) => ({ ...lease, ended: true }));
}
