import type { AnyAgent } from "../../agent/definition/config.ts";
import type { ReactAgent } from "../../agent/react/agent.ts";
import type { Revocations, TokenConfig } from "../../checkpoint/config.ts";
import { TokenError } from "../../checkpoint/error.ts";
import { verify } from "../../checkpoint/resume-tokens.ts";
import type { ResumeState } from "../../checkpoint/state.ts";
import type { ThreadStore } from "../../stores/port.ts";
import { isPlainObject, type JsonValue } from "../../thread/json.ts";
import { Thread } from "../../thread/thread.ts";
import { hookAnswer } from "../hook.ts";
import type { RuntimePorts } from "../ports.ts";
import { type TokenPorts, type Tokens, tokenConfigOf, warnsOnce } from "../session/tokens.ts";
import { wholeThread } from "./whole-thread.ts";

/** The context of a token that carries its run: the log, under a name that no legacy state had. */
const FORMAT = "heddle.run/1";

/** Tokens that carry the log, for a run whose store ends with the process. */
export function carrying(config: TokenConfig, store: ThreadStore): Tokens {
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
export function checkBasis({ state: { run, last } }: ReactAgent, { state, threadId }: RunToken): void {
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
