import { nextAgent } from "../../agent/react/agent.ts";
import type { ReactSettings } from "../../agent/react/settings.ts";
import type { Command, CommandInput, CommandOutcome, ConsumedCommand, PostedCommand } from "../../stores/command.ts";
import { CommandError, ConflictError, StaleHolderError } from "../../stores/errors.ts";
import type { AppendOptions, AppendResult, NextRun, ThreadStore } from "../../stores/port.ts";
import { longerTail } from "../../stores/project-from-store.ts";
import type { Entry, EntryInput } from "../../thread/entry.ts";
import { HeddleError, ThreadError } from "../../thread/errors.ts";
import { isPlainObject } from "../../thread/json.ts";
import { checkName } from "../../thread/options.ts";
import { REPLACED } from "../live/inbox.ts";
import type { NextTime, ScheduleChange } from "../live/schedule.ts";
import type { Effect, LiveSignal } from "../live/signal.ts";
import type { Holder } from "../session/holder.ts";
import { caughtUp, isAmple, loadAgent, shortened } from "../session/load.ts";
import { retryStore } from "../session/store-retry.ts";
import { threadKey } from "../thread-key.ts";
import type { Scene } from "./scene.ts";

type StoreEffect = Extract<
  Effect,
  { readonly type: "append" | "post" | "read_inbox" | "catch_up" | "load" | "restore" | "shorten" }
>;

/** Performs an effect that other signals wait for, and returns its answer. */
export async function answerOf(
  effect: StoreEffect,
  settings: ReactSettings,
  scene: Scene,
  holder: Holder | undefined,
): Promise<LiveSignal> {
  const { store, ports, threadId } = scene;
  const { id } = effect;
  switch (effect.type) {
    case "append": {
      const result = await append(scene, holder?.epoch, effect);
      wake(scene, effect.schedule);
      return { type: "appended", id, result };
    }
    case "catch_up": {
      const agent = await retryStore(ports, () => caughtUp(store, effect.agent, ports));
      // The entries may be of the next holder, so nothing starts because of them before the store was asked.
      if (agent?.thread !== effect.agent.thread) holder?.doubt();
      return { type: "caught_up", id, agent };
    }
    case "load": {
      const { thread: tail, error } = effect;
      const { thread, requests } = await retryStore(ports, () => longerTail(store, tail, error));
      return { type: "loaded", id, thread, isAmple: isAmple(thread, tail, error, requests) };
    }
    case "post": {
      const posted = await post(scene, holder?.epoch, effect.command, effect.schedule, effect.replaces);
      wake(scene, effect.schedule);
      return { type: "posted", id, ...posted };
    }
    case "read_inbox":
      return { type: "inbox_read", id, rows: await retryStore(ports, () => store.pending(threadId)) };
    case "restore": {
      if (effect.confirm) await holder?.confirm();
      const agent = await loadAgent(store, threadId, settings, ports);
      // It was restored meanwhile, and its request is not the one that failed here: the next claim takes it.
      if (effect.isGone && holder && agent.state.run) throw new StaleHolderError(threadId, holder.epoch, holder.epoch);
      return { type: "restored", id, agent, rows: await waitingRows(scene, holder) };
    }
    case "shorten":
      return { type: "shortened", id, agent: await shortened(store, effect.agent) };
    default:
      return effect satisfies never;
  }
}

/** The time is stored: a process is to look at the thread then. At once, while a request runs: this process may die. */
function wake({ wake: call, ports }: Scene, schedule: ScheduleChange | undefined): void {
  if (!schedule?.next) return;
  const { at = ports.clock() } = schedule.next;
  if (at !== "later") call(at);
}

type Place = Pick<Scene, "store" | "ports" | "threadId">;

/** The commands in the inbox of the thread. A thread without a claim has none. */
export async function waitingRows(
  { store, ports, threadId }: Place,
  holder: Holder | undefined,
): Promise<readonly Command[]> {
  return holder === undefined ? [] : retryStore(ports, () => store.pending(threadId));
}

/** The state of a command that was posted before: its outcome, or its row, which may have been amended since. */
interface Posted {
  readonly outcome?: CommandOutcome | undefined;
  readonly row?: Command | undefined;
}

/** Makes a command durable, unless another process has the thread. */
function post(
  place: Place & { readonly agent?: Scene["agent"] },
  epoch: number | undefined,
  command: CommandInput,
  schedule: ScheduleChange = {},
  replaces?: string,
): Promise<Posted> {
  const { store, ports, threadId } = place;
  const agent = place.agent?.();
  // The thread of an open request may have been deleted. Then the command is not stored.
  const options = { epoch, posts: [{ threadId, command }], create: agent?.state.run === undefined };
  const more = scheduleOptions(schedule, agent === undefined ? "" : nextAgent(agent), ports.clock);
  const rev = agent?.thread.rev;
  const find = async (): Promise<Command | undefined> =>
    (await store.pending(threadId)).find(({ id }) => id === command.id);
  return retryStore(ports, async () => {
    try {
      const { replayed } = await appendPost({ store, threadId, options, more, rev }, replaces);
      if (!replayed) return {};
      const { outcome } = await store.post(threadId, command);
      return outcome === undefined ? { row: await find() } : { outcome };
    } catch (error) {
      if (!CommandError.isInstance(error) || command.type === "context_op") throw error;
      // A command with this id was sent before, to an earlier request or with other content. It is not sent twice.
      const row = await find();
      if (row !== undefined && command.type !== "ask") throw error;
      return row === undefined ? { outcome: await store.outcome(threadId, command.id) } : { row };
    }
  });
}

/** Whether a command was posted before and answered: then it replaces nothing. */
async function hasOutcome(store: ThreadStore, { threadId, command: { id } }: PostedCommand): Promise<boolean> {
  if ((await store.pending(threadId)).some((row) => row.id === id)) return false;
  try {
    await store.outcome(threadId, id);
    return true;
  } catch (error) {
    if (CommandError.isInstance(error) && error.code === "command_not_found") return false;
    throw error;
  }
}

interface PostAppend extends Pick<Place, "store" | "threadId"> {
  readonly options: AppendOptions;
  /** The schedule, and the revision that it was made for. */
  readonly more: AppendOptions;
  readonly rev: number | undefined;
}

/** Drops the command that is replaced in the same transaction, unless it has an outcome already. */
async function appendPost(
  { store, threadId, options, more, rev }: PostAppend,
  replaces: string | undefined,
): Promise<AppendResult> {
  const posted = (given: AppendOptions) => scheduledPost({ store, threadId, options: given, more, rev });
  const [post] = options.posts ?? [];
  if (replaces === undefined || post === undefined || (await hasOutcome(store, post))) return posted(options);
  const consumes = [{ id: replaces, outcome: REPLACED }];
  try {
    return await posted({ ...options, consumes });
  } catch (error) {
    const isOfReplaced = CommandError.isInstance(error) && error.commandId === replaces;
    if (!isOfReplaced) throw error;
    return posted(options);
  }
}

/** Another process may have written an entry that makes the thread due. Then the schedule is an old one, and is left out. */
async function scheduledPost({ store, threadId, options, more, rev }: PostAppend): Promise<AppendResult> {
  if (isEmpty(more)) return store.append(threadId, [], options);
  try {
    return await scheduled(store, threadId, [], { ...options, expectedRev: rev }, more)();
  } catch (error) {
    if (!ConflictError.isInstance(error)) throw error;
    return store.append(threadId, [], options); // the command makes the thread due
  }
}

/** Withdraws the row of a command whose caller got an error. A row that is missing or has an outcome is ignored. */
export async function withdrawRow(
  { store, threadId, onError }: Place & Pick<Scene, "onError">,
  id: string,
): Promise<void> {
  try {
    await store.withdraw(threadId, id);
  } catch (error) {
    if (!CommandError.isInstance(error)) onError(error, { code: "command_not_withdrawn", threadId });
  }
}

/** Version 0.1 stored an operation that waits for the end of a request beside the log. It becomes a row. */
export async function moveEarlierOperation(place: Place & Pick<Scene, "warn">, epoch: number): Promise<boolean> {
  const { store, ports, threadId, warn } = place;
  const key = threadKey("context_op", threadId);
  const operation = await retryStore(ports, () => store.getCheckpoint(key));
  if (operation === undefined) return false;
  try {
    const id = isPlainObject(operation) ? operation["opId"] : undefined;
    checkName("opId", id);
    await post(place, epoch, { id, type: "context_op", operation });
  } catch (error) {
    if (!ThreadError.isInstance(error) && !CommandError.isInstance(error)) throw error; // for such an id there can be no row
    warn(`Thread ${threadId}: a context operation of version 0.1 had waited and is dropped: ${error.message}`);
  }
  await retryStore(ports, () => store.deleteCheckpoint(key));
  return true;
}

interface Batch extends Pick<Extract<Effect, { type: "append" }>, "before" | "after" | "metadata" | "owner"> {
  readonly consumes?: readonly ConsumedCommand[];
  readonly posts?: readonly CommandInput[];
  readonly sends?: readonly PostedCommand[];
  readonly schedule?: ScheduleChange;
}

/** Appends the entries of a decision. Their ids are fixed, so that appending them again is safe. */
export function append(
  { store, ports, threadId }: Place,
  epoch: number | undefined,
  { before, after, metadata, owner: asked, consumes = [], posts = [], sends = [], schedule = {} }: Batch,
): Promise<AppendResult> {
  const { rev: expectedRev } = before.thread;
  const hasEntries = after.thread.rev > expectedRev;
  const entries = hasEntries ? after.thread.slice(expectedRev, after.thread.lastSeq).map(inputOf) : [];
  const parent = before.state.run === undefined ? after.state.run?.options.parent : undefined;
  const owner = asked ?? parent?.owner;
  const more = { ...metadata, ...(parent && { parent: parent.threadId }) }; // lists show that it is a child
  const options = {
    epoch,
    expectedRev,
    ...(owner !== undefined && { owner }),
    ...(Object.keys(more).length > 0 && { metadata: more }),
    ...(consumes.length > 0 && { consumes }),
    ...(posts.length + sends.length > 0 && {
      posts: [...posts.map((command) => ({ threadId, command })), ...sends],
    }),
  };
  const scheduling = scheduleOptions(schedule, nextAgent(after), ports.clock);
  return retryStore(ports, scheduled(store, threadId, entries, options, scheduling));
}

/** An append with a schedule, and without it to a store that keeps none. */
function scheduled(
  store: ThreadStore,
  threadId: string,
  entries: readonly EntryInput[],
  options: AppendOptions,
  more: AppendOptions,
): () => Promise<AppendResult> {
  return async () => {
    if (isEmpty(more) || unscheduled.has(store)) return store.append(threadId, entries, options);
    try {
      return await store.append(threadId, entries, { ...options, ...more });
    } catch (error) {
      if (!HeddleError.isInstance(error) || error.code !== "store_unsupported") throw error;
      unscheduled.add(store);
      return store.append(threadId, entries, options);
    }
  };
}

/** Stores without due times, as others may write them. */
const unscheduled = new WeakSet<ThreadStore>();

function isEmpty(options: object): boolean {
  return Object.keys(options).length === 0;
}

/** A request that waits for people only is looked at again after a year. */
const FAR_MS = 365 * 24 * 3_600_000;

/** The options of an append that change when the thread is due, and its waiting calls. */
function scheduleOptions({ next, waiting }: ScheduleChange, agent: string, clock: () => number): AppendOptions {
  return { ...(next !== undefined && { next: nextRun(next, agent, clock()) }), ...(waiting && { waiting }) };
}

function nextRun(next: NextTime, agent: string, now: number): NextRun | null {
  if (next === null) return null;
  const { at = now, waitsFor } = next;
  const dueInMs = at === "later" ? FAR_MS : Math.max(0, at - now);
  return { agent, dueInMs, ...(waitsFor && { waitsFor }) };
}

/** The input of an entry. An operation or a setting has no time, so that a retry is the same input; the store sets it. */
function inputOf({ seq: _seq, at, ...entry }: Entry): EntryInput {
  return entry.kind === "ai_context_operation" || entry.kind === "ai_setting" ? entry : { ...entry, at };
}
