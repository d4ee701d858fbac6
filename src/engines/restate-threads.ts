import { type ObjectContext, object, TerminalError, type VirtualObjectDefinition } from "@restatedev/restate-sdk";
import { type AdvancingHost, advanceThread, type Scheduler } from "../runtime/host/advance.ts";
import { HeddleError } from "../thread/errors.ts";

/** How long one call of the object works. */
const SLICE_MS = 20_000;

/** The name of the virtual object. */
export interface RestateNames {
  /** The same for the scheduler and the service. Default "heddle". */
  readonly name?: string | undefined;
}

/** Where Restate takes calls. */
export interface RestateSchedulerOptions extends RestateNames {
  /** The address of Restate's ingress, such as "http://127.0.0.1:8080". */
  readonly url: string;
  /** Headers of each call, such as `authorization`. Default: none. */
  readonly headers?: { readonly [name: string]: string } | undefined;
}

/** The handlers of the virtual object. */
export type RestateHandlers = { readonly advance: (context: ObjectContext) => Promise<void> };

/** Wakes threads through Restate. */
export interface RestateScheduler extends Scheduler {
  /** Also for a thread whose commands were posted to the store. */
  readonly wake: (threadId: string, at?: number) => Promise<void>;
}

/**
 * The scheduler of a host: Restate keeps the times. It calls the object of `restateThreads`.
 *
 * @example
 * const scheduler = restateScheduler({ url: "http://127.0.0.1:8080" });
 * const agent = defineAgent({ model: scriptedModel(["4"]) });
 * const host = AgentHost.create({ agent, store: memoryStore(), scheduler });
 */
export function restateScheduler({ url, name = "heddle", headers }: RestateSchedulerOptions): RestateScheduler {
  return {
    async wake(threadId, at = 0) {
      const delay = Math.max(0, Math.ceil(at - Date.now()));
      const path = `${name}/${encodeURIComponent(threadId)}/advance/send?delay=${delay}ms`;
      const response = await fetch(new URL(path, url), { method: "POST", ...(headers && { headers }) });
      const answer = await response.text();
      if (!response.ok) throw new Error(`Restate answered ${response.status}: ${answer.slice(0, 500)}`);
    },
  };
}

/**
 * A virtual object for each thread, to be served by the Restate SDK. A call that dies with its process is repeated by another
 * process. Nothing of the thread is in Restate: the log is in the store.
 *
 * @example
 * const scheduler = restateScheduler({ url: "http://127.0.0.1:8080" });
 * const agent = defineAgent({ model: scriptedModel(["4"]) });
 * const host = AgentHost.create({ agent, store: memoryStore(), scheduler });
 * await serve({ services: [restateThreads(host)], port: 9080 });
 */
export function restateThreads(
  host: AdvancingHost,
  { name = "heddle" }: RestateNames = {},
): VirtualObjectDefinition<string, RestateHandlers> {
  const advance = async (context: ObjectContext): Promise<void> => {
    const next = (await context.run("advance", () => advanceThread(host, context.key, SLICE_MS))) ?? null;
    if (next === null) return;
    const delay = Math.max(0, next - (await context.date.now()));
    context.genericSend({ service: name, method: "advance", key: context.key, parameter: new Uint8Array(), delay });
  };
  return object({
    name,
    handlers: { advance },
    options: {
      journalRetention: 0, // the log of the thread is the journal
      retryPolicy: { initialInterval: 100, maxInterval: 5_000 },
      asTerminalError: (error) =>
        HeddleError.isInstance(error) && !error.retryable ? new TerminalError(error.message) : undefined,
    },
  });
}
