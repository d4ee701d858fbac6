import type { LeaseDecision, LeaseState } from "../driver.ts";
import { LeaseEndedError } from "../errors.ts";
import type { Lease } from "../lease.ts";
import type { LeaseKey } from "../port.ts";
import type { ClaimRecord, LeaseRecord } from "../stored-records.ts";

/** The end of a claim that was released. It cannot be renewed; an expired one can. */
export const RELEASED = 0;

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

export function keyOf({ node, incarnation }: LeaseKey): LeaseKey {
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
export function endedLeases(
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
