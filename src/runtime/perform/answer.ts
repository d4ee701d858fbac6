import { nextDue, type ReactAgent, storedWaitingCalls } from "../../agent/react/agent.ts";
import type { ReactSettings } from "../../agent/react/settings.ts";
import type { Command, CommandInput, CommandOutcome, ConsumedCommand } from "../../stores/command.ts";
import { CommandError } from "../../stores/errors.ts";
import type { AppendOptions, AppendResult, ThreadStore } from "../../stores/port.ts";
import { longerTail } from "../../stores/project-from-store.ts";
import type { WaitingCallInput } from "../../stores/waiting-call.ts";
import type { Entry, EntryInput } from "../../thread/entry.ts";
import { HeddleError, ThreadError } from "../../thread/errors.ts";
import { isPlainObject } from "../../thread/json.ts";
import { checkName } from "../../thread/options.ts";
import type { Effect, LiveSignal } from "../live/signal.ts";
import type { RuntimePorts } from "../ports.ts";
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
    case "append":
      return { type: "appended", id, result: await append(scene, holder?.epoch, effect) };
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
    case "post":
      return { type: "posted", id, ...(await post(scene, holder?.epoch, effect.command)) };
    case "read_inbox":
      return { type: "inbox_read", id, rows: await retryStore(ports, () => store.pending(threadId)) };
    case "restore": {
      if (effect.confirm) await holder?.confirm();
      const agent = await loadAgent(store, threadId, settings, ports);
      return { type: "restored", id, agent, rows: await waitingRows(scene, holder) };
    }
    case "shorten":
      return { type: "shortened", id, agent: await shortened(store, effect.agent) };
    default:
      return effect satisfies never;
  }
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
function post(place: Place, epoch: number | undefined, command: CommandInput): Promise<Posted> {
  const { store, ports, threadId } = place;
  const find = async (): Promise<Command | undefined> =>
    (await store.pending(threadId)).find(({ id }) => id === command.id);
  return retryStore(ports, async () => {
    try {
      const { replayed } = await store.append(threadId, [], { epoch, posts: [{ threadId, command }] });
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
export async function moveEarlierOperation(place: Place & Pick<Scene, "warn">, epoch: number): Promise<void> {
  const { store, ports, threadId, warn } = place;
  const key = threadKey("context_op", threadId);
  const operation = await retryStore(ports, () => store.getCheckpoint(key));
  if (operation === undefined) return;
  try {
    const id = isPlainObject(operation) ? operation["opId"] : undefined;
    checkName("opId", id);
    await post(place, epoch, { id, type: "context_op", operation });
  } catch (error) {
    if (!ThreadError.isInstance(error) && !CommandError.isInstance(error)) throw error; // for such an id there can be no row
    warn(`Thread ${threadId}: a context operation of version 0.1 had waited and is dropped: ${error.message}`);
  }
  await retryStore(ports, () => store.deleteCheckpoint(key));
}

interface Batch extends Pick<Extract<Effect, { type: "append" }>, "before" | "after" | "metadata"> {
  readonly consumes?: readonly ConsumedCommand[];
  readonly posts?: readonly CommandInput[];
}

/** Appends the entries of a decision. Their ids are fixed, so that appending them again is safe. */
export function append(
  { store, ports, threadId }: Place,
  epoch: number | undefined,
  { before, after, metadata, consumes = [], posts = [] }: Batch,
): Promise<AppendResult> {
  const { rev: expectedRev } = before.thread;
  const hasEntries = after.thread.rev > expectedRev;
  const entries = hasEntries ? after.thread.slice(expectedRev, after.thread.lastSeq).map(inputOf) : [];
  const options = {
    epoch,
    expectedRev,
    ...(Object.keys(metadata).length > 0 && { metadata }),
    ...(consumes.length > 0 && { consumes }),
    ...(posts.length > 0 && { posts: posts.map((command) => ({ threadId, command })) }),
  };
  const more = unscheduled.has(store) ? {} : scheduleOf(before, after, ports, epoch === undefined);
  return retryStore(ports, async () => {
    try {
      return await store.append(threadId, entries, { ...options, ...more });
    } catch (error) {
      if (!HeddleError.isInstance(error) || error.code !== "store_unsupported" || isEmpty(more)) throw error;
      unscheduled.add(store);
      return store.append(threadId, entries, options);
    }
  });
}

/** Stores without due times, as others may write them. */
const unscheduled = new WeakSet<ThreadStore>();

function isEmpty(options: object): boolean {
  return Object.keys(options).length === 0;
}

/** The changes of an append to lists of all threads: the next due time, and the waiting calls. */
function scheduleOf(before: ReactAgent, after: ReactAgent, { clock }: Clock, isForeign: boolean): AppendOptions {
  const due = nextDue(after);
  const isDue = due !== undefined && { agent: after.settings.name, dueInMs: Math.max(0, due - clock()) };
  const [earlier, waiting] = [before, after].map((agent) => listedCalls(agent, isForeign)) as [Listed, Listed];
  return {
    // Only the holder sets the due time. After a decision of another process the holder has to act first.
    ...(due !== nextDue(before) && !isForeign && { next: isDue || null }),
    ...(JSON.stringify(earlier) !== JSON.stringify(waiting) && { waiting }),
  };
}

type Clock = Pick<RuntimePorts, "clock">;
type Listed = readonly WaitingCallInput[];

/** Longer arguments are in the log only, in characters of JSON text. */
const MAX_LISTED_ARGUMENTS = 32_768;

/** The waiting calls, for a list of all threads. A call with an id that the list refuses is in the log only. */
function listedCalls(agent: ReactAgent, isForeign: boolean): Listed {
  const { requestId = "", options } = agent.state.run ?? {};
  const requestDeadline = options?.deadline;
  return storedWaitingCalls(agent, isForeign ? undefined : false).flatMap((call, index, all) => {
    const { toolCallId: callId, name, arguments: given, kind, deadline } = call;
    const isSecond = all.findIndex(({ toolCallId }) => toolCallId === callId) < index;
    if (isSecond || !/^\P{Cc}{1,512}$/u.test(callId) || !callId.isWellFormed()) return [];
    const isShort = JSON.stringify(given).length <= MAX_LISTED_ARGUMENTS;
    const of = {
      agent: agent.settings.name,
      requestId,
      name,
      ...(requestDeadline !== undefined && { requestDeadline }),
    };
    const body = { ...of, ...(isShort && { arguments: given }) };
    return [{ callId, kind, body, ...(deadline !== undefined && { deadline }) }];
  });
}

/** The input of an entry. An operation or a setting has no time, so that a retry is the same input; the store sets it. */
function inputOf({ seq: _seq, at, ...entry }: Entry): EntryInput {
  return entry.kind === "ai_context_operation" || entry.kind === "ai_setting" ? entry : { ...entry, at };
}
