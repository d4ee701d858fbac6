import type { AnyAgent } from "../../agent/definition/config.ts";
import { ConflictError } from "../../stores/errors.ts";
import { memoryStore } from "../../stores/memory-store.ts";
import type { ThreadStore } from "../../stores/port.ts";
import type { Thread } from "../../thread/thread.ts";
import { type RuntimePorts, runtimePorts } from "../ports.ts";
import { referring, type TokenPorts, type Tokens, tokenConfigOf } from "../session/tokens.ts";
import { harmless, systemWarn } from "../warn.ts";
import type { RunOptions } from "./options.ts";
import { carrying } from "./run-token.ts";

type Given = Pick<RunOptions<AnyAgent>, "store" | "telemetry" | "warn" | "onError" | "ports">;

/** Where a run takes place. */
export interface Place extends TokenPorts {
  readonly agent: AnyAgent;
  readonly store: ThreadStore;
  /** The store is this run's alone, and ends with it: nobody else can hold the thread, and tokens carry it. */
  readonly isOwn: boolean;
  readonly ports: RuntimePorts;
  readonly telemetry: Given["telemetry"];
  readonly onError: Given["onError"];
}

export function placeOf(agent: AnyAgent, options: Given): Place {
  const { store, telemetry, warn: told = systemWarn, onError, ports: given } = options;
  const ports = runtimePorts(given);
  const { clock, ids } = ports;
  const warn = harmless(told);
  const isOwn = store === undefined;
  return { agent, store: store ?? memoryStore({ clock, ids }), isOwn, ports, clock, telemetry, warn, onError };
}

export function tokensIn(place: Place, threadId: string): Tokens {
  const config = tokenConfigOf(place.agent, place);
  return place.isOwn ? carrying(config, place.store) : referring(config, threadId);
}

/** Has the store hold what the caller has; answers the revision that it held before. */
export async function saved({ store }: Place, thread: Thread): Promise<number> {
  const before = await store.load(thread.id, { last: 1 });
  await store.save(thread);
  return before?.rev ?? 0;
}

/** The same, for a caller who must have all that the store has. */
export async function savedWhole(place: Place, thread: Thread): Promise<void> {
  const before = await saved(place, thread);
  if (before > thread.rev) throw new ConflictError(thread.id, thread.rev, before);
}
