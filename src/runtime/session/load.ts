import type { ReactAgent } from "../../agent/react/agent.ts";
import { isAsk, restore } from "../../agent/react/restore.ts";
import type { ReactSettings } from "../../agent/react/settings.ts";
import { evolve, readRequestEnd } from "../../agent/react/state.ts";
import { activeLane, lanesBefore } from "../../lanes/active-lane.ts";
import type { ThreadStore } from "../../stores/port.ts";
import { loadMissing } from "../../stores/project-from-store.ts";
import { isPlainObject, type JsonObject } from "../../thread/json.ts";
import type { Ports } from "../../thread/ports.ts";
import { Thread } from "../../thread/thread.ts";
import { laneBaseOf } from "../../thread/thread-data.ts";
import type { RuntimePorts } from "../ports.ts";
import { patiently } from "./patiently.ts";

/** Entries read at first: enough for most windows, and the same for a thread of any length. */
export const FIRST = 200;

/** The agent of a thread, from its last entries; a thread that is not there yet is an empty one. */
export async function loadAgent(
  store: ThreadStore,
  threadId: string,
  settings: ReactSettings,
  ports: RuntimePorts,
): Promise<ReactAgent> {
  return patiently(ports, async () => {
    const tail = await store.load(threadId, { last: FIRST });
    return restored(
      store,
      tail ?? Thread.create({ clock: ports.clock, ids: ports.ids, id: threadId }),
      settings,
      ports,
    );
  });
}

async function restored(store: ThreadStore, tail: Thread, settings: ReactSettings, ports: Ports): Promise<ReactAgent> {
  const lastAskSeq = tail.firstSeq === 0 ? undefined : await lastAskOf(store, tail);
  for (let thread = tail; ; ) {
    try {
      return restore(settings, thread, ports, { lastAskSeq });
    } catch (error) {
      thread = await loadMissing(store, thread, error);
    }
  }
}

/** Where the request that may be open begins; -1 when none is, whatever lies before the tail. */
async function lastAskOf(store: ThreadStore, tail: Thread): Promise<number> {
  for (const entry of tail.toArray({ partial: true }).toReversed()) {
    if (isAsk(entry)) return entry.seq;
    if (entry.refs.requestId !== undefined && readRequestEnd(entry.payload as JsonObject) !== undefined) return -1; // payloads are JSON
  }
  const older = store.read(tail.id, {
    toSeq: tail.firstSeq - 1,
    reverse: true,
    kinds: ["ai_message", "note", "error"],
  });
  for await (const entry of older) {
    if (isAsk(entry)) return entry.seq;
    if (readRequestEnd(entry.payload as JsonObject) !== undefined) return -1; // payloads are JSON
  }
  return -1;
}

/** Entries that may stay loaded between two requests, and how many of them are kept when there are more. */
const LOADED = 768;
const KEPT = 384;
/** Of what the last call was shown, so that the next one need not load it again. */
const KEPT_OF_VIEW = 1.5;

/** The agent with the end of its thread only, when much more is loaded and nothing runs: a server may live for long. */
export async function shortened(store: ThreadStore, agent: ReactAgent): Promise<ReactAgent> {
  const { thread, state, settings, ports } = agent;
  const loaded = thread.rev - thread.firstSeq;
  if (state.run !== undefined || loaded <= LOADED) return agent;
  const last = Math.max(KEPT, Math.ceil(KEPT_OF_VIEW * shownIn(thread)));
  if (loaded <= 2 * last) return agent;
  const tail = await store.load(thread.id, { last });
  if (tail === undefined || tail.rev < thread.rev) return agent;
  const fresh = await restored(store, tail, settings, ports);
  return { ...agent, thread: fresh.thread, state: fresh.state };
}

/** How far the view of the last call reached back, in entries. */
function shownIn(thread: Thread): number {
  for (let seq = thread.lastSeq; seq >= thread.firstSeq; seq--) {
    const call = (thread.at(seq)?.payload as JsonObject | undefined)?.["call"]; // payloads are JSON
    const view = isPlainObject(call) ? call["view"] : undefined;
    if (isPlainObject(view)) return typeof view["startSeq"] === "number" ? thread.rev - view["startSeq"] : 0;
  }
  return 0;
}

/** The thread with the earlier state of the lanes that its entries use. Entries of other processes may use any lane. */
async function withLanesOf(store: ThreadStore, tail: Thread): Promise<Thread> {
  for (let thread = tail; ; ) {
    try {
      for (const lane of [...lanesBefore(thread, thread.rev), activeLane(thread)]) laneBaseOf(thread.base, lane);
      return thread;
    } catch (error) {
      thread = await loadMissing(store, thread, error);
    }
  }
}

/**
 * The agent with what other processes have written since. A thread that was deleted, or deleted and begun again, is read anew;
 * undefined when a run is open that it no longer has.
 */
export async function caughtUp(
  store: ThreadStore,
  agent: ReactAgent,
  ports: RuntimePorts,
): Promise<ReactAgent | undefined> {
  const { thread, settings, state } = agent;
  const fresh: Parameters<Thread["append"]>[0][] = [];
  let isSame = thread.rev === 0;
  for await (const entry of store.read(thread.id, { fromSeq: Math.max(0, thread.rev - 1) })) {
    const { seq, ...input } = entry;
    if (seq >= thread.rev) fresh.push(input);
    else isSame = entry.id === thread.last()?.id;
    if (!isSame) break;
  }
  if (!isSame) {
    if (state.run !== undefined) return undefined;
    const anew = await loadAgent(store, thread.id, settings, ports);
    return { ...agent, thread: anew.thread, state: anew.state };
  }
  const grown = await withLanesOf(
    store,
    fresh.reduce<Thread>((before, entry) => before.append(entry), thread),
  );
  const before = { ...state, lanes: lanesBefore(grown, thread.rev) };
  return { ...agent, thread: grown, state: grown.slice(thread.rev, grown.lastSeq).reduce(evolve, before) };
}
