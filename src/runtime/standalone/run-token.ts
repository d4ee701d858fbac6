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
import { extendTail, readTail } from "../../stores/project-from-store.ts";
import { isPlainObject, type JsonValue } from "../../thread/json.ts";
import { Thread } from "../../thread/thread.ts";
import { ignoreErrorsOf, systemWarn } from "../callbacks.ts";
import { type RuntimePorts, runtimePorts } from "../ports.ts";
import { settingsFor } from "../server/settings.ts";
import { refTokens, type TokenPorts, type Tokens, tokenConfigOf, warnOfSize } from "../session/tokens.ts";
import { threadKey } from "../thread-key.ts";
import { hookAnswer } from "../time-limits.ts";
import type { RunOptions } from "./options.ts";

type SetupOptions = Pick<RunOptions<AnyAgent>, "store" | "telemetry" | "warn" | "onError" | "ports">;

/** The agent, store and ports of a run. */
export interface RunSetup extends TokenPorts {
  readonly agent: AnyAgent;
  readonly store: ThreadStore;
  /** The store is a memory store of this run. No other process can hold the thread, and tokens carry the log. */
  readonly isOwn: boolean;
  readonly ports: RuntimePorts;
  readonly telemetry: SetupOptions["telemetry"];
  readonly onError: SetupOptions["onError"];
}

export function setupOf(agent: AnyAgent, options: SetupOptions): RunSetup {
  const { store, telemetry, warn: onWarning = systemWarn, onError, ports: own } = options;
  const ports = runtimePorts(own);
  const { clock, ids } = ports;
  const warn = ignoreErrorsOf(onWarning);
  const isOwn = store === undefined;
  return { agent, store: store ?? memoryStore({ clock, ids }), isOwn, ports, clock, telemetry, warn, onError };
}

export function runTokens(setup: RunSetup, threadId: string): Tokens {
  const config = tokenConfigOf(setup.agent, setup);
  return setup.isOwn ? logTokens(config, setup.store) : refTokens(config, threadId);
}

/** Saves the thread of the caller to the store. Returns the revision that the store had before. */
export async function saveThread({ store }: RunSetup, thread: Thread): Promise<number> {
  const before = await store.load(thread.id, { last: 1 });
  await store.save(thread);
  return before?.rev ?? 0;
}

/** Like `saveThread`, but refuses a thread that lacks entries of the store. */
export async function saveWholeThread(setup: RunSetup, thread: Thread): Promise<void> {
  const before = await saveThread(setup, thread);
  if (before > thread.rev) throw new ConflictError(thread.id, thread.rev, before);
}

/** The format of the context of a token with a log. Earlier tokens never had this name. */
const FORMAT = "heddle.run/1";

/** Tokens with the whole log, for a run without a store. */
function logTokens(config: TokenConfig, store: ThreadStore): Tokens {
  return {
    config,
    contentOf: async ({ thread }) => {
      const log = (await wholeThread(store, thread)).toJSON() as unknown as JsonValue; // toJSON returns JSON
      return { context: { format: FORMAT, log } };
    },
    onTooLarge: warnOfSize(config),
  };
}

/** A verified token, and its thread. */
export interface RunToken {
  readonly tokenId: string;
  readonly state: ResumeState;
  readonly threadId: string;
  /** The revision of the thread when the token was minted. */
  readonly rev: number;
  /** The log in the token. Undefined when the thread is in a store. */
  readonly thread: Thread | undefined;
}

interface VerifyOptions extends TokenPorts {
  readonly revocations?: Pick<Revocations, "isRevoked"> | undefined;
  readonly ports: RuntimePorts;
}

const HOOK = { name: "revocations.isRevoked", code: "revocations_failed" };

export async function readToken(token: string, agent: AnyAgent, options: VerifyOptions): Promise<RunToken> {
  const { revocations: list, ports } = options;
  const limit = { ports, timeoutMs: agent.hookTimeoutMs };
  const revocations = list && {
    isRevoked: (id: string) => hookAnswer(limit, HOOK, () => list.isRevoked(id)),
  };
  const { state, tokenId } = await verify(token, { ...tokenConfigOf(agent, options), revocations });
  const { context, threadRef, runId, phase } = state;
  // A terminal token only reads a result, so it works after a revocation of the run.
  if (phase !== "terminal" && (await revocations?.isRevoked(revokedRun(runId)))) throw runRevoked();
  if (context === undefined) {
    const { threadId = "", rev = 0 } = threadRef ?? {}; // a token has one of the two
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

/** Throws if the thread, as of the token, does not have the run of the token. */
function checkBasis({ state: { run, last } }: ReactAgent, { state, threadId }: RunToken): void {
  if ((run ?? last?.run)?.runId === state.runId) return;
  const message = `Thread ${threadId} does not have the run of this token. Pass the store of the run.`;
  throw new TokenError({ code: "invalid_token_state", path: "state.threadRef", message });
}

/**
 * Throws if the thread has moved past the token: the run must be the last of the thread, open, and at the same iteration.
 * To end a run, the iteration does not matter.
 */
export function checkNotSuperseded(
  { state: { run, last } }: ReactAgent,
  { state: { runId, basis } }: RunToken,
  isEnding = false,
): void {
  if ((run ?? last?.run)?.runId !== runId) throw superseded("another request was started since");
  if (run === undefined) throw superseded("its request has ended since");
  if (isEnding || basis?.["iteration"] === undefined || basis["iteration"] === run.iteration) return;
  throw superseded("the model was called again since");
}

function superseded(why: string): TokenError {
  const message = `The thread has moved past this token: ${why}. Resume from a newer token, or ask again.`;
  return new TokenError({ code: "token_superseded", message });
}

function runRevoked(): TokenError {
  const message = "The run of this token was cancelled, so all its tokens are revoked. Ask again.";
  return new TokenError({ code: "token_revoked", message });
}

function invalidContext(): TokenError {
  const message = "The context of this token is not that of a run. Use the code that minted it to verify it.";
  return new TokenError({ code: "invalid_token_state", path: "state.context", message });
}

/** How many entries the first load reads. */
const FIRST = 200;

/** The agent as of the token. Claims and writes nothing. */
export async function agentAt(setup: RunSetup, token: RunToken): Promise<ReactAgent> {
  const { agent, store, ports } = setup;
  const settings = await settingsFor(agent);
  return readTail(store, token.thread ?? (await loadThread(setup, token)), (thread) => {
    const restored = restore(settings, thread, ports);
    checkBasis(restored, token);
    return restored;
  });
}

async function loadThread({ store, isOwn }: RunSetup, { threadId, rev }: RunToken): Promise<Thread> {
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
 * Whether a process of 0.1 stopped the run at a checkpoint of this revision, so that no open call has started. It wrote a
 * record beside the log; later versions append a note instead. The record is removed, because calls start from here on.
 */
export async function takeAtRest(store: ThreadStore, { thread, state: { run } }: ReactAgent): Promise<boolean> {
  if (run === undefined || run.handedOver !== undefined || openCalls(run).length === 0) return false;
  const key = threadKey("at_rest", thread.id);
  const record = await store.getCheckpoint(key);
  if (record === undefined) return false;
  await store.deleteCheckpoint(key);
  return isPlainObject(record) && record["rev"] === thread.rev;
}

/** The thread with all its entries. A run without a store returns it, and its caller cannot load the rest later. */
export async function wholeThread(store: ThreadStore, thread: Thread): Promise<Thread> {
  return thread.firstSeq === 0 ? thread : extendTail(store, thread, 0);
}
