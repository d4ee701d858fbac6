import type { AgentConfig } from "./config.ts";
import type { InputOf, InputSchema } from "./schema.ts";
import type { ContextOf, Tools } from "./tool.ts";

type Defaulted =
  | "name"
  | "maxIterations"
  | "toolTimeoutMs"
  | "toolMaxRetries"
  | "toolRetryBackoffMs"
  | "modelMaxRetries"
  | "toolConcurrency"
  | "toolHeartbeatMs"
  | "streamIdleTimeoutMs"
  | "busy"
  | "streaming"
  | "toolChoice"
  | "outputRetries"
  | "redact"
  | "captureDeltas"
  | "recover"
  | "maxAttempts";

type Config = AgentConfig<Tools, never, InputSchema | undefined>;
type Complete = { readonly [Field in Defaulted]: Exclude<Config[Field], undefined> } & Omit<
  Config,
  Defaulted | "instructions" | "tools"
> & { readonly tools: Tools };

/**
 * An agent as it was defined: checked, complete and frozen, the same for all threads it serves. Made by `defineAgent`;
 * the parameters say what tools it has, what a request's context is, and what `result.object` is.
 */
export type Agent<Given extends Tools = Tools, Context = unknown, Output = unknown> = Complete & {
  readonly tools: Given;
  /** Only for types; never there. */
  readonly "~types"?: { readonly context: (context: Context) => void; readonly output: Output };
};

/** Any agent at all. */
export type AnyAgent = Agent<Tools, never, unknown>;

/** What `result.object` is for an agent with this `output`; without one there is none. */
export type OutputOf<Schema> = Schema extends InputSchema ? InputOf<Schema> : undefined;
/** What a request of this agent is given as `context`. */
export type AgentContext<Given extends AnyAgent> = Given extends Agent<Tools, infer Context, unknown> ? Context : never;
/** What `result.object` of this agent is. */
export type AgentOutput<Given extends AnyAgent> = Given extends Agent<Tools, never, infer Output> ? Output : never;

/** The context of an agent with these tools, unless it says more itself. */
export type ContextFor<Given extends Tools> = [keyof Given] extends [never] ? unknown : ContextOf<Given>;
