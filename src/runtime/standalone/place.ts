import type { AnyAgent } from "../../agent/definition/config.ts";
import type { ReactAgent } from "../../agent/react/agent.ts";
import { restore } from "../../agent/react/restore.ts";
import { openCalls } from "../../agent/react/state.ts";
import type { Revocations, TokenConfig } from "../../checkpoint/config.ts";
import { TokenError } from "../../checkpoint/error.ts";
import type { ResumeState } from "../../checkpoint/payload.ts";
import { verify } from "../../checkpoint/resume-tokens.ts";
import { ConflictError, StoreError, threadNotFound } from "../../stores/errors.ts";
import { memoryStore } from "../../stores/memory-store.ts";
import type { ThreadStore } from "../../stores/port.ts";
import { extendTail, loadMissing } from "../../stores/project-from-store.ts";
import { isPlainObject, type JsonValue } from "../../thread/json.ts";
import { Thread } from "../../thread/thread.ts";
import { ignoreErrorsOf, systemWarn } from "../callbacks.ts";
import { type RuntimePorts, runtimePorts } from "../ports.ts";
import { settingsFor } from "../server/settings.ts";
import { referring, type TokenPorts, type Tokens, tokenConfigOf, warnsOnce } from "../session/tokens.ts";
import { threadKey } from "../thread-key.ts";
import { hookAnswer } from "../time-limits.ts";
import type { RunOptions } from "./options.ts";

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
  const warn = ignoreErrorsOf(told);
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

/** The context of a token that carries its run: the log, under a name that no legacy state had. */
const FORMAT = "heddle.run/1";

/** Tokens that carry the log, for a run whose store ends with the process. */
function carrying(config: TokenConfig, store: ThreadStore): Tokens {
  return {
    config,
    carry: async ({ thread }) => {
      const log = (await wholeThread(store, thread)).toJSON() as unknown as JsonValue; // toJSON gives JSON
      return { context: { format: FORMAT, log } };
    },
    tooLarge: warnsOnce(config),
  };
}

/** A token that was found good, and the thread that it is of. */
export interface RunToken {
  readonly tokenId: string;
  readonly state: ResumeState;
  readonly threadId: string;
  /** Of the thread, when the token was minted. */
  readonly rev: number;
  /** What it carries; undefined when the thread lies in a store. */
  readonly thread: Thread | undefined;
}

interface Reading extends TokenPorts {
  readonly revocations?: Pick<Revocations, "isRevoked"> | undefined;
  readonly ports: RuntimePorts;
}

const HOOK = { name: "revocations.isRevoked", code: "revocations_failed" };

export async function readToken(token: string, agent: AnyAgent, reading: Reading): Promise<RunToken> {
  const { revocations: given, ports } = reading;
  const limit = { ports, timeoutMs: agent.hookTimeoutMs };
  const revocations = given && {
    isRevoked: (id: string) => hookAnswer(limit, HOOK, () => given.isRevoked(id)),
  };
  const { state, tokenId } = await verify(token, { ...tokenConfigOf(agent, reading), revocations });
  const { context, threadRef, runId, phase } = state;
  // What a run came to is told also when it was ended since: nothing goes on.
  if (phase !== "terminal" && (await revocations?.isRevoked(revokedRun(runId)))) throw runRevoked();
  if (context === undefined) {
    const { threadId = "", rev = 0 } = threadRef ?? {}; // one of the two is there
    return { tokenId, state, threadId, rev, thread: undefined };
  }
  if (!isPlainObject(context) || context["format"] !== FORMAT) throw invalidContext();
  const thread = Thread.fromJSON(context["log"]);
  return { tokenId, state, threadId: thread.id, rev: thread.rev, thread };
}

/** The id under which all tokens of a run are revoked at once. */
export function revokedRun(runId: string): string {
  return `run_${runId}`;
}

/** The agent as it stood when the token was minted is that of the token's run. */
function checkBasis({ state: { run, last } }: ReactAgent, { state, threadId }: RunToken): void {
  if ((run ?? last?.run)?.runId === state.runId) return;
  const message = `Thread ${threadId} is not what this token refers to. Pass the store in which its run took place.`;
  throw new TokenError({ code: "invalid_token_state", path: "state.threadRef", message });
}

/**
 * A run that goes on from a token has not gone on without it: it is the thread's last, open, and at the same model call.
 * One that is only to be ended may have gone on.
 */
export function checkStanding(
  { state: { run, last } }: ReactAgent,
  { state: { runId, basis } }: RunToken,
  isEnding = false,
): void {
  if ((run ?? last?.run)?.runId !== runId) throw superseded("another request was asked since");
  if (run === undefined) throw superseded("its request has ended since");
  if (isEnding || basis?.["iteration"] === undefined || basis["iteration"] === run.iteration) return;
  throw superseded("the model was called again since");
}

function superseded(why: string): TokenError {
  const message = `The thread has gone on past this token: ${why}. Resume from a newer token, or ask again.`;
  return new TokenError({ code: "token_superseded", message });
}

function runRevoked(): TokenError {
  const message = "The run of this token was cancelled, and all its tokens with it. Ask again.";
  return new TokenError({ code: "token_revoked", message });
}

function invalidContext(): TokenError {
  const message = "This token's context is not that of a run. Verify it with what minted it.";
  return new TokenError({ code: "invalid_token_state", path: "state.context", message });
}

/** Entries read at first, as for a server. */
const FIRST = 200;

/** The agent as it stood when a token was minted; nothing is claimed or written. */
export async function stoodAt(place: Place, token: RunToken): Promise<ReactAgent> {
  const { agent, store, ports } = place;
  const settings = await settingsFor(agent);
  let thread = token.thread ?? (await loaded(place, token));
  for (;;) {
    try {
      const stood = restore(settings, thread, ports);
      checkBasis(stood, token);
      return stood;
    } catch (error) {
      thread = await loadMissing(store, thread, error);
    }
  }
}

async function loaded({ store, isOwn }: Place, { threadId, rev }: RunToken): Promise<Thread> {
  if (isOwn) throw noStore();
  try {
    const thread = await store.load(threadId, { last: FIRST, upToSeq: rev - 1 });
    if (thread !== undefined) return thread;
  } catch (error) {
    if (!StoreError.isInstance(error) || error.code !== "seq_out_of_range") throw error;
  }
  throw threadNotFound(threadId);
}

function noStore(): TokenError {
  const message = "This token refers to a thread in a store. Pass that store: { store }.";
  return new TokenError({ code: "invalid_options", path: "store", message });
}

/**
 * Whether a process of 0.1 left the run at a checkpoint of this revision, so that no open call has started. It wrote a record
 * beside the log. Since then the log says it: a process that stops notes the calls that it has started. The record is
 * removed, because calls start from here on.
 */
export async function takeAtRest(store: ThreadStore, { thread, state: { run } }: ReactAgent): Promise<boolean> {
  if (run === undefined || run.handedOver !== undefined || openCalls(run).length === 0) return false;
  const key = threadKey("at_rest", thread.id);
  const record = await store.getCheckpoint(key);
  if (record === undefined) return false;
  await store.deleteCheckpoint(key);
  return isPlainObject(record) && record["rev"] === thread.rev;
}

/** A thread with all its entries: where a run has no store of its caller's, nobody could load the rest later. */
export async function wholeThread(store: ThreadStore, thread: Thread): Promise<Thread> {
  return thread.firstSeq === 0 ? thread : extendTail(store, thread, 0);
}
