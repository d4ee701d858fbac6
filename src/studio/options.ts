import type { AgentContext, AnyAgent } from "../agent/definition/config.ts";
import type { RuntimePorts } from "../runtime/ports.ts";
import type { ThreadStore } from "../stores/port.ts";
import { type OptionNames, refuseUnknownOptions } from "../thread/options.ts";
import type { SuggestedPrompt } from "./contract.ts";
import { demoAgent } from "./demo/demo-agent.ts";
import { StudioError } from "./http/response.ts";

/** Options that the Studio takes. `context` is required for an agent whose context cannot be undefined. */
export type StudioOptions<Agent extends AnyAgent = AnyAgent> = StudioFields & {
  /** The agent that answers. Default: the offline demo. */
  readonly agent?: Agent | undefined;
  /** In place of `agent`: several agents, each for its own threads. The first one answers in new threads. Default: none. */
  readonly agents?: readonly Agent[] | undefined;
} & StudioContext<AgentContext<Agent>>;

interface StudioFields {
  /** The store of the threads. Studio does not close it. Default: the store at `url`. */
  readonly store?: ThreadStore | undefined;
  /** Used if there is no `store`: opened by Studio, and closed when it stops. Default "sqlite:./heddle.db". */
  readonly url?: string | undefined;
  /** Refuses every route that changes threads. Default false. */
  readonly readOnly?: boolean | undefined;
  /** The token that every API call must send. Default: a random one for `startStudio`, none for `studioHandler`. */
  readonly token?: string | undefined;
  /** The folder of the page; false for the API alone. Default: the page of the package. */
  readonly ui?: string | false | undefined;
  /** The name of the store that the page shows. Default: the kind of the store. */
  readonly label?: string | undefined;
  /** Prompts that the empty page offers. Default: the demo's prompts if the demo answers, else none. */
  readonly prompts?: readonly SuggestedPrompt[] | undefined;
  /** More allowed Host headers, besides the address that Studio listens on. Default: none. */
  readonly hosts?: readonly string[] | undefined;
  /** Milliseconds after which an idle thread is released. Default 10 000. */
  readonly idleMs?: number | undefined;
  /** The largest import, in bytes. An import is held in memory. Default 256 MiB. */
  readonly importLimit?: number | undefined;
  /** Receives warnings. Default: prints them on stderr. */
  readonly warn?: ((message: string) => void) | undefined;
  /** Clock, ids, timers and random numbers, for tests. Default: those of the system. */
  readonly ports?: Partial<RuntimePorts> | undefined;
}

/** Makes the context of a request of this thread. */
type ContextFunction<Context> = (threadId: string) => Context | Promise<Context>;

type StudioContext<Context> = [Context] extends [never]
  ? {
      /** Returns the agent's context for a request of this thread, also for one resumed after a crash. Default: none. */
      readonly context?: ContextFunction<unknown> | undefined;
    }
  : undefined extends Context
    ? {
        /** Returns the agent's context for a request of this thread, also for one resumed after a crash. Default: none. */
        readonly context?: ContextFunction<Context> | undefined;
      }
    : {
        /** Returns the agent's context for a request of this thread, also for one resumed after a crash. Required. */
        readonly context: ContextFunction<Context>;
      };

/** Where a Studio listens. The rest is as for `studioHandler`. */
export type StartOptions<Agent extends AnyAgent = AnyAgent> = StudioOptions<Agent> & {
  /** The TCP port. Default 4747; 0 takes any free port. */
  readonly port?: number | undefined;
  /** Default "127.0.0.1". */
  readonly host?: string | undefined;
};

/** A Studio that accepts connections. */
export interface RunningStudio extends AsyncDisposable {
  /** The address to open. It works once, in one browser; the page saves the token for other tabs. */
  readonly url: string;
  /** The token for `Authorization: Bearer`, the command line, and the page in another browser. */
  readonly token: string;
  readonly port: number;
  /** Ends the streams, waits up to `graceMs` (default 5000) for running requests, and releases the threads. */
  stop(options?: { readonly graceMs?: number | undefined }): Promise<void>;
}

const NAMES: OptionNames<StudioOptions> = {
  store: true,
  url: true,
  agent: true,
  agents: true,
  context: true,
  readOnly: true,
  token: true,
  ui: true,
  label: true,
  prompts: true,
  hosts: true,
  idleMs: true,
  importLimit: true,
  warn: true,
  ports: true,
};

/** Refuses an agent that reads a context when there is none. Types cannot check an agent of type `AnyAgent`. */
export function checkContext(
  what: string,
  { name, systemPrompt, tools }: AnyAgent,
  { context, readOnly }: StudioOptions,
): void {
  if (context !== undefined || readOnly === true) return;
  const tool = Object.entries(tools).find(([, given]) => "contextSchema" in given && given.contextSchema !== undefined);
  const isPrompt = typeof systemPrompt === "function" && systemPrompt.length > 0;
  const reader = isPrompt ? "systemPrompt" : tool && `tool ${tool[0]}`;
  if (reader === undefined) return;
  const fix = `Pass ${what}({ agent, context: (threadId) => ... }), with () => undefined if the agent works without one`;
  const message = `The agent ${name} needs a context, because its ${reader} has a parameter for it. ${fix}.`;
  throw new StudioError({ code: "invalid_options", status: 400, message });
}

export function checkStudioOptions(what: string, options: object, more: { readonly [name: string]: true } = {}): void {
  refuseUnknownOptions(what, options, { ...NAMES, ...more }, (message) => {
    return new StudioError({ code: "invalid_options", status: 400, message });
  });
}

/** The agents of the options, at least one. */
export function agentsIn({ agent, agents, ports }: StudioOptions): readonly [AnyAgent, ...AnyAgent[]] {
  const [first, ...others] = agents ?? (agent === undefined ? [] : [agent]);
  if (first !== undefined && (agent === undefined || agents === undefined)) return [first, ...others];
  if (agents === undefined) return [demoAgent({ ports })];
  const message = "Pass `agent`, or `agents` with at least one agent.";
  throw new StudioError({ code: "invalid_options", status: 400, message });
}
