import type { Message } from "heddle";
import type { Variant } from "../peers/projection/peer.ts";
import { type FaultCounts, faultsOf } from "./faults.ts";
import { limitFor, listsAt } from "./limit.ts";
import { asks, type Session, type SessionSizes, sessions } from "./sessions.ts";
import { tokensOf } from "./tokens.ts";

/** Measures the cost of long sessions when a provider caches the prefix of each call. */
export interface CacheJob {
  readonly table: "cache";
  readonly sessions: SessionSizes;
  readonly budget: number;
}

/** Of one session. Tokens are always counted by heddle's heuristic. */
export interface CacheNumbers extends FaultCounts {
  readonly limit: number;
  readonly calls: number;
  /** Of each call from the second on, the share that the call before began with too; their mean. */
  readonly prefixShare: number;
  /** The cost of a shown token, in prices of an uncached one. */
  readonly costIndex: number;
  /** The cost of a call, in uncached tokens. */
  readonly costPerCall: number;
  readonly meanTokens: number;
  readonly maxTokens: number;
  /** Calls for which it made no list. */
  readonly refused: number;
}

const READ = 0.1;
const WRITE = 1.25;

export async function measureCache(variant: Variant, job: CacheJob): Promise<Readonly<Record<string, CacheNumbers>>> {
  const numbers: Record<string, CacheNumbers> = {};
  for (const session of sessions(job.sessions))
    numbers[session.id] = await measureSession(variant, session, job.budget);
  return numbers;
}

async function measureSession(variant: Variant, session: Session, budget: number): Promise<CacheNumbers> {
  const lengths = asks(session);
  const limit = await limitFor(variant, session.messages, lengths, budget);
  const lists = await listsAt(variant, session.messages, lengths, limit);
  const made = lists.filter((list) => list !== undefined);
  const tokens = made.map(tokensOf);
  const shared = made.map((list, call) => tokensOf(list.slice(0, samePrefix(made[call - 1] ?? [], list))));
  const shares = shared.slice(1).map((part, call) => part / Math.max(1, tokens[call + 1] ?? 0));
  const sent = sum(tokens);
  const cost = READ * sum(shared) + WRITE * (sent - sum(shared));
  return {
    limit,
    calls: lengths.length,
    prefixShare: sum(shares) / shares.length,
    costIndex: cost / sent,
    costPerCall: cost / made.length,
    meanTokens: sent / made.length,
    maxTokens: Math.max(...tokens),
    ...faultsOf(made),
    refused: lists.length - made.length,
  };
}

/** How many messages both begin with. */
function samePrefix(before: readonly Message[], list: readonly Message[]): number {
  const end = list.findIndex((message, index) => JSON.stringify(message) !== JSON.stringify(before[index]));
  return end < 0 ? list.length : end;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
