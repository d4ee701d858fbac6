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
 * An agent definition: checked, with all defaults, frozen, and shared by all threads. Made by `defineAgent`. The type
 * parameters are its tools, the context of a request, and the type of `result.object`.
 */
export type Agent<Given extends Tools = Tools, Context = unknown, Output = unknown> = Complete & {
  readonly tools: Given;
  /** Only for types; never set at run time. */
  readonly "~types"?: { readonly context: (context: Context) => void; readonly output: Output };
};

/** Any agent. */
export type AnyAgent = Agent<Tools, never, unknown>;

/** The type of `result.object` for an agent with this `output`; undefined without `output`. */
export type OutputOf<Schema> = Schema extends InputSchema ? InputOf<Schema> : undefined;
/** The type of `context` in requests of this agent. */
export type AgentContext<Given extends AnyAgent> = Given extends Agent<Tools, infer Context, unknown> ? Context : never;
/** The type of `result.object` of this agent. */
export type AgentOutput<Given extends AnyAgent> = Given extends Agent<Tools, never, infer Output> ? Output : never;

/** The context type that these tools need. */
export type ContextFor<Given extends Tools> = [keyof Given] extends [never] ? unknown : ContextOf<Given>;
