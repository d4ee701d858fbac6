import type { CounterDecision, CounterState } from "../driver.ts";
import { LeaseEndedError } from "../errors.ts";
import type { Count, CountOptions } from "../lease.ts";
import { isSameLease } from "./claim.ts";

/** Gives a node as much of a counter as the other nodes leave. */
export function decideCount(
  { lease, amount: wanted, limit = Number.MAX_SAFE_INTEGER }: CountOptions,
  { nodes }: CounterState,
): CounterDecision<Count> {
  const own = nodes.find((node) => isSameLease(node, lease));
  if (own === undefined) throw new LeaseEndedError(lease);
  const others = nodes.flatMap(({ node, amount }) => (node === lease.node || amount === 0 ? [] : [amount]));
  const left = Math.max(
    0,
    others.reduce((sum, amount) => sum - amount, limit),
  );
  const amount = Math.min(wanted, left);
  return { result: { amount, others }, ...(amount !== own.amount && { written: { node: lease.node, amount } }) };
}
