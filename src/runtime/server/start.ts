import type { AnyAgent } from "../../agent/definition/config.ts";
import { isAgent } from "../../agent/definition/define-agent.ts";
import { AgentError } from "../../agent/definition/errors.ts";
import type { AgentEvent } from "../../agent/event.ts";
import type { ReactAgent } from "../../agent/react/agent.ts";
import type { Signal } from "../../agent/signal.ts";
import { StaleHolderError, ThreadHeldError } from "../../stores/errors.ts";
import type { HeddleError } from "../../thread/errors.ts";
import { untilAborted } from "../directives/until-aborted.ts";
import { harmlessly } from "../on-error.ts";
import { runtimePorts } from "../ports.ts";
import { RequestError } from "../request/request-error.ts";
import { Holder } from "../session/holder.ts";
import type { NodeLease } from "../session/node-lease.ts";
import { referring, type TokenPorts, type Tokens, tokenConfigOf } from "../session/tokens.ts";
import { guarded } from "../telemetry/guarded.ts";
import { silent } from "../telemetry/telemetry.ts";
import { harmless, systemWarn } from "../warn.ts";
import { Asking } from "./asking.ts";
import { LiveThread } from "./live-thread.ts";
import type { ServerOptions } from "./options.ts";
import type { AgentServer } from "./port.ts";
import { LiveServer } from "./server.ts";
import { Stopping } from "./stopping.ts";

export const LEASE_TTL_MS = 10_000;

export interface StartHooks {
  readonly listen?: (event: AgentEvent) => void;
  readonly tokens?: Tokens;
  /** The lease of the host. Default: a lease of this server. */
  readonly lease?: NodeLease | undefined;
  /** The thread is nobody else's: a store of one's own needs no claim. */
  readonly unclaimed?: boolean;
  /** What to do with a request that is open, instead of what `recover` says; what it throws ends the start. */
  readonly first?: (agent: ReactAgent) => Signal | undefined;
  /** Called when the thread is held, before it is read; what it throws ends the start. */
  readonly claimed?: () => Promise<void>;
  /** Called when the server stops by itself: somebody else has the thread, or the store is gone. */
  readonly lost?: () => void;
  /** Called when the thread is live, before the server is there. */
  readonly opened?: (live: LiveThread) => void;
}

/** Starts a server, as long as anybody wants it: neither the caller's own code nor the store has to answer ever. */
export async function startServer<Given extends AnyAgent>(
  options: ServerOptions<Given>,
  hooks: StartHooks = {},
): Promise<AgentServer<Given>> {
  const { signal = new AbortController().signal } = options;
  try {
    return await untilAborted(signal, () => start(options, hooks, signal));
  } catch (error) {
    throw signal.aborted ? givenUp() : error;
  }
}

async function start<Given extends AnyAgent>(
  options: ServerOptions<Given>,
  hooks: StartHooks,
  signal: AbortSignal,
): Promise<AgentServer<Given>> {
  const { agent, store, context = () => undefined as never } = options;
  const warn = harmless(options.warn ?? systemWarn);
  const telemetry = options.telemetry === undefined ? silent : guarded(options.telemetry);
  if (!isAgent(agent)) {
    throw new AgentError({ code: "invalid_agent", path: "agent", message: "agent must be made by defineAgent." });
  }
  const ports = runtimePorts(options.ports);
  const threadId = options.threadId ?? ports.ids("thread");
  const ttlMs = options.leaseTtlMs ?? LEASE_TTL_MS;
  let live: LiveThread | undefined;
  let early: { readonly error: unknown } | undefined;
  const lost = (error: unknown): void => {
    if (live === undefined) early = { error };
    else live.collapse(error);
  };
  const claim = {
    holder: options.holder ?? ports.ids("holder"),
    ttlMs,
    lease: hooks.lease,
    waitMs: options.claimWaitMs ?? ttlMs,
    ports,
    lost,
    signal,
  };
  const holder = hooks.unclaimed ? undefined : await Holder.claim(store, threadId, claim);
  let stopping: Stopping | undefined;
  const letGo = (): void => void holder?.release().catch(() => undefined); // renews no more, whatever comes of it
  signal.addEventListener("abort", letGo, { once: true });
  try {
    signal.throwIfAborted();
    const tokens = hooks.tokens ?? tokensOf(agent, threadId, { warn, clock: ports.clock });
    await hooks.claimed?.();
    live = await LiveThread.open({
      definition: agent,
      threadId,
      store,
      ports,
      telemetry,
      holder,
      warn,
      onError: harmlessly(options.onError),
      context,
      tools: options.tools,
      tokens,
      signal,
      first: hooks.first,
      listen: hooks.listen ?? (() => undefined),
      lost: (error) => {
        stopping?.stop({ graceMs: 0 }, lostBecause(threadId, error)).catch(() => undefined); // the claim runs out by itself
        hooks.lost?.();
      },
    });
    hooks.opened?.(live);
    const asking = new Asking(live);
    stopping = new Stopping(live, asking);
    if (early !== undefined) live.collapse(early.error);
    if (signal.aborted) await stopping.stop({ graceMs: 0 });
    return new LiveServer<Given>(live, asking, stopping);
  } catch (error) {
    await holder?.release().catch(() => undefined); // what went wrong first is what is told
    throw error;
  } finally {
    signal.removeEventListener("abort", letGo);
  }
}

/** What every later call of the server is told. */
function lostBecause(threadId: string, error: unknown): HeddleError | undefined {
  if (ThreadHeldError.isInstance(error)) return error;
  if (!StaleHolderError.isInstance(error)) return undefined;
  const { holder, until } = error;
  if (holder !== undefined && until !== undefined) return new ThreadHeldError(threadId, holder, until);
  const message = `Thread ${threadId} was claimed by another process, and this server has stopped. Start the thread again.`;
  return new RequestError({ code: "server_stopped", message });
}

function givenUp(): RequestError {
  const message = "The start was given up: its signal was aborted, or its host stopped. Start the thread again.";
  return new RequestError({ code: "server_stopped", message });
}

/** A server's tokens refer to its thread: whoever resumes reads the log. */
function tokensOf(agent: AnyAgent, threadId: string, ports: TokenPorts): Tokens | undefined {
  return agent.tokenSecret === undefined ? undefined : referring(tokenConfigOf(agent, ports), threadId);
}
