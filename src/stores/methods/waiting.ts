import { listedCalls, nextAgent, nextDue } from "../../agent/react/agent.ts";
import { restore } from "../../agent/react/restore.ts";
import { reactSettings } from "../../agent/react/settings.ts";
import { copyJsonObject, freezeJson, type JsonObject } from "../../thread/json.ts";
import { checkName } from "../../thread/options.ts";
import type { Thread } from "../../thread/thread.ts";
import type { WaitingPosition } from "../driver.ts";
import { CorruptionError, unsupported } from "../errors.ts";
import { checkOptions, checkSeq, invalidOption } from "../options.ts";
import type { AppendOptions, ThreadStore, WaitingOptions } from "../port.ts";
import type { StoredWaiting, ThreadWaiting } from "../stored-records.ts";
import type { ListedCall, WaitingCallInput } from "../waiting-call.ts";
import type { StoreContext } from "./context.ts";

/** `waiting`: the calls of all threads that wait for people or other processes. */
export function waitingMethods(context: StoreContext): Pick<ThreadStore, "waiting"> {
  return {
    async waiting(options = {}) {
      const {
        kind,
        limit = 50,
        cursor,
        signal,
      } = checkOptions<WaitingOptions>(options, ["kind", "limit", "cursor", "signal"]);
      if (kind !== undefined) checkText("kind", kind, 128);
      if (!(Number.isSafeInteger(limit) && limit >= 1 && limit <= 1000))
        throw invalidOption("limit", "from 1 to 1,000");
      const after = cursor === undefined ? undefined : readCursor(cursor);
      context.checkOpen();
      const { driver } = context.withSignal(signal);
      if (!driver.scheduling || driver.waiting === undefined) throw unsupported("lists of waiting calls");
      const found = await driver.waiting({ kind, after, limit: limit + 1 });
      const calls = found.slice(0, limit).map(readCall);
      const last = calls.at(-1);
      if (last === undefined || found.length <= limit) return { calls };
      return { calls, cursor: JSON.stringify([last.since, last.threadId, last.callId]) };
    },
  };
}

/** The checked `waiting` of an append, without `since`. */
export function draftWaiting(
  waiting: readonly WaitingCallInput[],
  maxChars: number,
): readonly Omit<StoredWaiting, "since">[] {
  if (!Array.isArray(waiting)) throw invalidOption("waiting", "a list of calls");
  const calls = waiting.map((item: WaitingCallInput, index) => {
    const path = `waiting[${index}]`;
    const { callId, kind, deadline, body = {} } = checkOptions(item, ["callId", "kind", "deadline", "body"]);
    checkText(`${path}.callId`, callId, 512);
    checkText(`${path}.kind`, kind, 128);
    checkSeq(`${path}.deadline`, deadline);
    const text = JSON.stringify(copyJsonObject(body, `${path}.body`));
    if (text.length > maxChars) throw invalidOption(`${path}.body`, `at most ${maxChars} characters of JSON text`);
    return { callId, kind, deadline: deadline ?? null, body: text };
  });
  if (new Set(calls.map(({ callId }) => callId)).size < calls.length)
    throw invalidOption("waiting", "a list with each call once");
  return calls;
}

function checkText(path: string, text: unknown, most: number): asserts text is string {
  const isText = typeof text === "string" && text !== "" && text.length <= most && text.isWellFormed();
  if (!isText || /\p{Cc}/u.test(text))
    throw invalidOption(path, `text of 1 to ${most} characters without control characters`);
}

function readCall({ threadId, call: { body, deadline, ...call } }: ThreadWaiting): ListedCall {
  try {
    const shown = freezeJson(JSON.parse(body) as JsonObject); // `append` writes objects only
    return { threadId, ...call, ...(deadline !== null && { deadline }), body: shown };
  } catch (cause) {
    throw new CorruptionError({ threadId, seq: -1, trouble: `its waiting call ${call.callId} is not JSON`, cause });
  }
}

function readCursor(cursor: string): WaitingPosition {
  try {
    const [since, threadId, callId, ...rest]: readonly unknown[] = JSON.parse(cursor);
    checkName("threadId", threadId);
    checkText("callId", callId, 512);
    if (Number.isSafeInteger(since) && rest.length === 0) return { since: Number(since), threadId, callId };
  } catch {} // not JSON, or not the parts of a cursor: the error below
  throw invalidOption("cursor", "the cursor of a page of waiting calls");
}

/** A request that waits for people only is looked at again after a year. */
const FAR_MS = 365 * 24 * 3_600_000;

/** When the open request of a thread that is saved is due, and its calls that wait, as a host would write them. */
export function scheduleOfSaved(thread: Thread, clock: () => number): Pick<AppendOptions, "next" | "waiting"> {
  const { status, forkSeq } = thread.metadata;
  const isWaiting = status === "waiting";
  // A fork without entries of its own has the status of its parent, and no process runs it.
  if (thread.firstSeq > 0 || forkSeq === thread.lastSeq || !(isWaiting || status === "running")) return {};
  const restored = restore(reactSettings(), thread);
  const { run } = restored.state;
  if (run === undefined) return {};
  const agent = { ...restored, settings: { ...restored.settings, name: run.agent ?? "" } };
  const at = nextDue(agent);
  const dueInMs = !isWaiting ? 0 : at === undefined ? FAR_MS : Math.max(0, at - clock());
  return {
    next: { agent: nextAgent(agent) || undefined, dueInMs },
    ...(isWaiting && { waiting: listedCalls(agent, true) }),
  };
}
