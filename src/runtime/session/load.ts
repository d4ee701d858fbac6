import { recordedCall } from "../../agent/model-call.ts";
import type { ReactAgent } from "../../agent/react/agent.ts";
import { isAsk, restore } from "../../agent/react/restore.ts";
import type { ReactSettings } from "../../agent/react/settings.ts";
import { evolve, readRequestEnd, runFromAsk } from "../../agent/react/state.ts";
import { activeLane, lanesBefore } from "../../lanes/active-lane.ts";
import { turnsRead } from "../../projection/engine/render-pass.ts";
import { ProjectionError } from "../../projection/error.ts";
import { ContextPolicy } from "../../projection/policy/policy.ts";
import type { ThreadStore } from "../../stores/port.ts";
import { extendTail, readTail } from "../../stores/project-from-store.ts";
import { measureIn, measureOfEntries, startOfMissing } from "../../stores/turn-start.ts";
import type { Entry, EntryInput, Refs } from "../../thread/entry.ts";
import { isPlainObject, type JsonObject, type JsonValue } from "../../thread/json.ts";
import type { Ports } from "../../thread/ports.ts";
import { Thread } from "../../thread/thread.ts";
import { laneBaseOf } from "../../thread/thread-data.ts";
import type { RuntimePorts } from "../ports.ts";
import { retryStore } from "./store-retry.ts";

/** How many entries the first load reads. A longer window needs one more load. */
export const FIRST = 128;

/** Loads the agent of a thread from its last entries. A thread that does not exist is an empty one. */
export async function loadAgent(
  store: ThreadStore,
  threadId: string,
  settings: ReactSettings,
  ports: RuntimePorts,
): Promise<ReactAgent> {
  return retryStore(ports, async () => {
    const tail = await store.load(threadId, { last: FIRST, maxChars: LOADED_CHARS });
    return restored(
      store,
      tail ?? Thread.create({ clock: ports.clock, ids: ports.ids, id: threadId }),
      settings,
      ports,
    );
  });
}

async function restored(store: ThreadStore, page: Thread, settings: ReactSettings, ports: Ports): Promise<ReactAgent> {
  const tail = await withOpenRequest(store, page, settings);
  const lastAskSeq = tail.firstSeq === 0 ? undefined : await lastAskOf(store, tail);
  return readTail(store, tail, (thread) => restore(settings, thread, ports, { lastAskSeq }));
}

/** Extends the tail to the start of an open request, and the turns before it that the first call needs. */
async function withOpenRequest(
  store: ThreadStore,
  tail: Thread,
  { contextPolicy, model }: ReactSettings,
): Promise<Thread> {
  if (tail.firstSeq === 0 || edgeOf(tail) !== undefined) return tail;
  const policy = ContextPolicy.resolve({ definition: contextPolicy, model });
  const start = await startOfMissing(store, tail, { missingTurns: turnsRead(policy) + 1 });
  return start === undefined ? tail : extendTail(store, tail, start.fromSeq);
}

/** The newest entry that starts or ends a request. */
function edgeOf(tail: Thread): Entry | undefined {
  return tail.toArray({ partial: true }).findLast((entry) => isAsk(entry) || isEnd(entry));
}

function isEnd({ refs, payload }: Entry): boolean {
  return refs.requestId !== undefined && readRequestEnd(payload as JsonObject) !== undefined; // payloads are JSON
}

/** The seq of the ask of an open request. -1 if no request is open, also before the tail. */
async function lastAskOf(store: ThreadStore, tail: Thread): Promise<number> {
  const edge = edgeOf(tail);
  if (edge !== undefined) return isAsk(edge) ? edge.seq : -1;
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

/**
 * Whether an extended tail has the missing turns of an error, and about as much text as expected. `requests` has the seqs of
 * the first entries of the found requests.
 */
export function isAmple(thread: Thread, before: Thread, error: unknown, requests: readonly number[]): boolean {
  if (thread.firstSeq === 0) return true;
  if (!ProjectionError.isInstance(error) || error.missingTurns === undefined) return false;
  const { windowSeq, missingTurns } = error;
  const lane = activeLane(before);
  const turns = requests.filter((seq) => thread.slice(seq, seq).some((first) => runFromAsk(first)?.lane === lane));
  if (turns.length < missingTurns) return false;
  return windowSeq === undefined || (turns.filter((seq) => seq <= windowSeq).length >= 2 && isEven(thread, before));
}

/** Whether the added entries are about as large as those that the tail had before. */
function isEven({ firstSeq, base }: Thread, before: Thread): boolean {
  if (base === undefined || before.base === undefined) return false;
  const added = (measureIn(before.base) - measureIn(base)) / (before.firstSeq - firstSeq);
  return added >= EVEN * (measureOfEntries(before) / (before.rev - before.firstSeq));
}

/** The smallest allowed ratio. The estimate of a window has a margin of 10 %. */
const EVEN = 0.95;

/** Large entries, such as tables and pictures, are loaded up to this size. More of them are read where a context needs them. */
const LOADED_CHARS = 16 * 1024 * 1024;
/** The size of a request after which the size of the whole thread is looked at. */
const LARGE_CHARS = 256 * 1024;

/** With more than LOADED entries between two requests, all but the last KEPT are dropped from memory. */
const LOADED = 768;
const KEPT = 384;
/** At least this multiple of the last view is kept, so that the next call need not load it again. */
const KEPT_OF_VIEW = 1.5;

/** Drops early entries from memory when many are loaded and no request runs, because a server may live for months. */
export async function shortened(store: ThreadStore, agent: ReactAgent): Promise<ReactAgent> {
  const { thread, state, settings, ports } = agent;
  const loaded = thread.rev - thread.firstSeq;
  if (state.run !== undefined) return agent;
  const isMany = loaded > LOADED;
  const charsFrom = (seq: number): number => charsOf(thread.slice(seq, thread.lastSeq));
  const isLarge =
    charsFrom(state.last?.run.askSeq ?? thread.rev) > LARGE_CHARS && charsFrom(thread.firstSeq) > LOADED_CHARS;
  const last = Math.max(isLarge ? 1 : KEPT, Math.ceil(KEPT_OF_VIEW * shownIn(thread)));
  const saves = isLarge
    ? loaded > last && 2 * charsFrom(thread.rev - last) < charsFrom(thread.firstSeq)
    : loaded > 2 * last;
  if (!saves || !(isMany || isLarge)) return agent;
  const tail = await store.load(thread.id, { last });
  if (tail === undefined || tail.rev < thread.rev) return agent;
  const fresh = await restored(store, tail, settings, ports);
  return { ...agent, thread: fresh.thread, state: fresh.state };
}

function charsOf(entries: readonly Entry[]): number {
  return entries.reduce((sum, { payload }) => sum + charsIn(payload), 0);
}

/** The length of the texts of a value, without looking at each character. */
function charsIn(value: JsonValue | undefined): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 0;
  return Object.values(value).reduce((sum: number, item) => sum + charsIn(item), 0);
}

/** The number of entries from the start of the last view to the end of the thread. */
function shownIn(thread: Thread): number {
  for (let seq = thread.lastSeq; seq >= thread.firstSeq; seq--) {
    const entry = thread.at(seq);
    const view = entry && recordedCall(entry)?.view;
    if (isPlainObject(view)) return typeof view.startSeq === "number" ? thread.rev - view.startSeq : 0;
  }
  return 0;
}

/** Loads the state of the lanes that the entries use. Entries of other processes may use any lane. */
async function withLanesOf(store: ThreadStore, tail: Thread): Promise<Thread> {
  return readTail(store, tail, (thread) => {
    for (const lane of [...lanesBefore(thread, thread.rev), activeLane(thread)]) laneBaseOf(thread.base, lane);
    return thread;
  });
}

/** The entries that the store has behind those of the thread. Undefined when it was deleted, and maybe created again. */
export async function entriesSince(store: ThreadStore, thread: Thread): Promise<readonly EntryInput[] | undefined> {
  const fresh: EntryInput[] = [];
  let isSame = thread.rev === 0;
  for await (const entry of store.read(thread.id, { fromSeq: Math.max(0, thread.rev - 1) })) {
    const { seq, ...input } = entry;
    if (seq >= thread.rev) fresh.push(input);
    else isSame = entry.id === thread.last()?.id;
    if (!isSame) break;
  }
  return isSame ? fresh : undefined;
}

/**
 * Adds the entries that other processes have written since. A thread that was deleted, and maybe created again, is loaded
 * from the start. Undefined if it was deleted while a run was open.
 */
export async function caughtUp(
  store: ThreadStore,
  agent: ReactAgent,
  ports: RuntimePorts,
): Promise<ReactAgent | undefined> {
  const { thread, settings, state } = agent;
  const fresh = await entriesSince(store, thread);
  if (fresh === undefined) {
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

/** How many entries one query scans. SQLite runs in this thread, so a long query would block the event loop. */
const PAGE = 2_000;

interface ScanSource {
  readonly store: ThreadStore;
  readonly ports: RuntimePorts;
  /** Aborts the scan. */
  readonly signal?: AbortSignal | undefined;
}

interface EntryFilter {
  /** Default: all kinds. */
  readonly kinds?: readonly string[] | undefined;
  /** Text in its payload, so that the store can leave out other entries. */
  readonly search?: string | undefined;
  /** Its refs. With a `requestId` the store uses an index, and no pages are needed. */
  readonly refs?: Refs | undefined;
  readonly is: (entry: Entry) => boolean;
}

/** The newest matching entry before the loaded ones. Scans the store in pages, newest first. */
export async function findOlderEntry(
  { store, ports, signal }: ScanSource,
  { id, firstSeq }: Thread,
  { kinds, search, refs, is }: EntryFilter,
): Promise<Entry | undefined> {
  const size = refs?.requestId === undefined ? PAGE : firstSeq;
  for (let toSeq = firstSeq - 1; toSeq >= 0; toSeq -= size) {
    signal?.throwIfAborted();
    const page = { fromSeq: Math.max(0, toSeq - size + 1), toSeq, reverse: true, kinds, search, refs };
    const found = await retryStore(ports, async () => {
      for await (const entry of store.read(id, page)) if (is(entry)) return entry;
      return undefined;
    });
    if (found !== undefined) return found;
  }
  return undefined;
}
