import type { AgentContext, AgentOutput, AnyAgent } from "../../agent/definition/config.ts";
import { secretsOf, type TokenConfig } from "../../checkpoint/config.ts";
import type { Content } from "../../thread/message.ts";
import { RequestError } from "../request/request-error.ts";
import type { AskArguments, AskOptions } from "../server/options.ts";
import type { AgentServer } from "../server/port.ts";
import { startServer } from "../server/start.ts";
import { harmless, systemWarn } from "../warn.ts";
import { handleOf, LastToken } from "./handle.ts";
import type { RunHandle, RunOptions, RunResult } from "./options.ts";
import { placeOf, savedWhole, tokensIn } from "./place.ts";

/** A run, and the server behind it. */
export interface Begun<Given extends AnyAgent> {
  readonly handle: RunHandle<Given>;
  readonly server: AgentServer<Given>;
}

interface Checkpoints {
  /** Called at each checkpoint: the run goes on when it resolves. */
  readonly told?: (() => Promise<void>) | undefined;
  /** Nobody sees the tokens as long as the run does not wait. */
  readonly isUnseen?: boolean;
}

/** Asks and waits for the result. Only who is handed a token, because the run waits, has to hear that no secret signs it. */
export async function runOnce<Given extends AnyAgent>(
  agent: Given,
  content: Content,
  options: RunOptions<Given>,
): Promise<RunResult<AgentOutput<Given>>> {
  const { handle } = await beginRun(agent, content, options, { isUnseen: true });
  return handle.result.catch((error: unknown) => {
    const waits = RequestError.isInstance(error) && error.code === "request_waiting";
    if (waits) secretsOf(agent.tokenSecret, harmless(options.warn ?? systemWarn));
    throw error;
  });
}

/** Asks once, on a thread that is the caller's. */
export async function beginRun<Given extends AnyAgent>(
  agent: Given,
  content: Content,
  options: RunOptions<Given>,
  { told, isUnseen = false }: Checkpoints = {},
): Promise<Begun<Given>> {
  const { thread, threadId: named, store: _, telemetry: _telemetry, ports: _ports, warn: _warn, ...others } = options;
  const { onError: _onError, ...ask } = others;
  if (thread !== undefined && named !== undefined && named !== thread.id) throw otherThread();
  const place = placeOf(agent, options);
  const { store, isOwn, ports, telemetry, warn, onError } = place;
  const threadId = named ?? thread?.id ?? ports.ids("thread");
  const last = new LastToken();
  const tokens = tokensIn(place, threadId);
  const server = await startServer<Given>(
    { agent, store, threadId, telemetry, ports, warn, onError },
    {
      unclaimed: isOwn,
      tokens: { ...tokens, config: isUnseen ? unwarned(tokens.config) : tokens.config, told },
      listen: last.listen,
      claimed: async () => {
        if (thread !== undefined) await savedWhole(place, thread);
      },
      first: ({ state: { run } }) => {
        if (run !== undefined) throw busy(run.requestId);
        return undefined;
      },
    },
  );
  try {
    const given = [ask] as unknown as AskArguments<AskOptions<AgentContext<Given>>>; // what is left of its own options
    return { handle: handleOf(server, await server.ask(content, ...given), place, last), server };
  } catch (error) {
    await server.stop({ graceMs: 0 }).catch(() => undefined); // why the ask was refused is what is told
    throw error;
  }
}

/** The types want somebody to warn where the secret may be missing: here that comes later. */
function unwarned(config: TokenConfig): TokenConfig {
  return { ...config, warn: undefined } as TokenConfig;
}

/** A run never goes on with a request that somebody else has left open. */
function busy(requestId: string): RequestError {
  const message =
    "The thread has a request that is open: it was interrupted, or it waits for a call to be approved or answered. " +
    "Continue its token, or start the thread with AgentServer, and ask again.";
  return new RequestError({ code: "busy", requestId, retryable: true, message });
}

function otherThread(): RequestError {
  const message = "threadId and thread name two different threads. Give one of them.";
  return new RequestError({ code: "invalid_options", message });
}
