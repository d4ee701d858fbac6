import type {
  AgentConfig,
  AgentDefinition,
  AgentOutput,
  AnyAgent,
  InferOutput,
  ToolsContext,
} from "../agent/definition/config.ts";
import { defineAgent, isAgent } from "../agent/definition/define-agent.ts";
import type { InputSchema } from "../agent/definition/schema.ts";
import type { Tools } from "../agent/definition/tool.ts";
import type { AgentEvent } from "../agent/event.ts";
import { type ReactAgent, reactAgent } from "../agent/react/agent.ts";
import { type ReactSettings, reactSettings } from "../agent/react/settings.ts";
import type { Content, UserMessage } from "../thread/message.ts";
import { refuseUnknownOptions } from "../thread/options.ts";
import type { Ports } from "../thread/ports.ts";
import type { Thread } from "../thread/thread.ts";
import { checkCancelOptions, checkContinueOptions, checkRunOptions } from "./option-names.ts";
import type { RequestResult } from "./request/result.ts";
import type { AskArguments } from "./server/options.ts";
import { cancelRun, continueRun } from "./standalone/continue.ts";
import type { CancelOptions, ContinueOptions, RunHandle, RunOptions, RunResult } from "./standalone/options.ts";
import { beginRun, collectEvents, EventStream, type RunStarter, runOnce } from "./standalone/run.ts";

/** The agent of a config, as `defineAgent` types it. */
type AgentOf<AgentTools extends Tools, Schema extends InputSchema | undefined, Context> = AgentDefinition<
  AgentTools,
  Context & ToolsContext<AgentTools>,
  InferOutput<Schema>
>;

/** Excludes agents from configs. The types of a config do not check that an agent gets its context. */
type NoAgent = { readonly "~types"?: undefined };

/** The functions of `react`: agents without a server, for callers with a loop and threads of their own. */
export interface Standalone {
  /** Asks once and waits for the result. */
  run<Agent extends AnyAgent>(
    content: Content | UserMessage,
    agent: Agent,
    ...options: AskArguments<RunOptions<Agent>>
  ): Promise<RunResult<AgentOutput<Agent>>>;
  run<
    AgentTools extends Tools = Record<never, never>,
    const Schema extends InputSchema | undefined = undefined,
    Context = ToolsContext<AgentTools>,
  >(
    content: Content | UserMessage,
    config: AgentConfig<AgentTools, Context, Schema> & NoAgent,
    ...options: AskArguments<RunOptions<AgentOf<AgentTools, Schema, Context>>>
  ): Promise<RunResult<InferOutput<Schema>>>;
  /**
   * Asks once and iterates the events. The run starts when the first event is read. At a checkpoint it pauses until the next event
   * is read. Leaving the loop stops the run; `react.continue` resumes it from its last token.
   */
  stream<Agent extends AnyAgent>(
    content: Content | UserMessage,
    agent: Agent,
    ...options: AskArguments<RunOptions<Agent>>
  ): AsyncIterable<AgentEvent>;
  stream<
    AgentTools extends Tools = Record<never, never>,
    const Schema extends InputSchema | undefined = undefined,
    Context = ToolsContext<AgentTools>,
  >(
    content: Content | UserMessage,
    config: AgentConfig<AgentTools, Context, Schema> & NoAgent,
    ...options: AskArguments<RunOptions<AgentOf<AgentTools, Schema, Context>>>
  ): AsyncIterable<AgentEvent>;
  /** Asks one question. Resolves when the run has started. */
  start<Agent extends AnyAgent>(
    content: Content | UserMessage,
    agent: Agent,
    ...options: AskArguments<RunOptions<Agent>>
  ): Promise<RunHandle<Agent>>;
  start<
    AgentTools extends Tools = Record<never, never>,
    const Schema extends InputSchema | undefined = undefined,
    Context = ToolsContext<AgentTools>,
  >(
    content: Content | UserMessage,
    config: AgentConfig<AgentTools, Context, Schema> & NoAgent,
    ...options: AskArguments<RunOptions<AgentOf<AgentTools, Schema, Context>>>
  ): Promise<RunHandle<AgentOf<AgentTools, Schema, Context>>>;
  /** Resumes the run of a token from its checkpoint, with decisions on calls that wait. */
  continue<Agent extends AnyAgent>(
    token: string,
    agent: Agent,
    options?: ContinueOptions<Agent>,
  ): Promise<RunHandle<Agent>>;
  continue<AgentTools extends Tools, const Schema extends InputSchema | undefined, Context>(
    token: string,
    config: AgentConfig<AgentTools, Context, Schema>,
    options?: ContinueOptions<AgentOf<AgentTools, Schema, Context>>,
  ): Promise<RunHandle<AgentOf<AgentTools, Schema, Context>>>;
  /** The result of the run of a token. Resumes the run if it has not ended. */
  collect<Agent extends AnyAgent>(
    token: string,
    agent: Agent,
    options?: ContinueOptions<Agent>,
  ): Promise<RunResult<AgentOutput<Agent>>>;
  collect<AgentTools extends Tools, const Schema extends InputSchema | undefined, Context>(
    token: string,
    config: AgentConfig<AgentTools, Context, Schema>,
    options?: ContinueOptions<AgentOf<AgentTools, Schema, Context>>,
  ): Promise<RunResult<InferOutput<Schema>>>;
  /** The result of a run from its events, which may have been stored. It is the result of the run without `thread`. */
  collect<Agent extends AnyAgent>(
    events: AsyncIterable<AgentEvent>,
    agent: Agent,
  ): Promise<RequestResult<AgentOutput<Agent>>>;
  collect<AgentTools extends Tools, const Schema extends InputSchema | undefined, Context>(
    events: AsyncIterable<AgentEvent>,
    config: AgentConfig<AgentTools, Context, Schema>,
  ): Promise<RequestResult<InferOutput<Schema>>>;
  /**
   * Cancels the run of a token; `result` rejects with `request_cancelled`. With a store or `revocations`, no token of the run
   * can resume it afterwards.
   */
  cancel<Agent extends AnyAgent>(
    token: string,
    agent: Agent,
    options?: CancelOptions<Agent>,
  ): Promise<RunHandle<Agent>>;
  cancel<AgentTools extends Tools, const Schema extends InputSchema | undefined, Context>(
    token: string,
    config: AgentConfig<AgentTools, Context, Schema>,
    options?: CancelOptions<AgentOf<AgentTools, Schema, Context>>,
  ): Promise<RunHandle<AgentOf<AgentTools, Schema, Context>>>;
}

/**
 * Agents without a server. The result has the thread, which the caller passes to the next run.
 *
 * @example
 * const config = { model: scriptedModel(["4", "Because 2+2 is 4."]), systemPrompt: "Be brief." };
 * const first = await react.run("What's 2+2?", config);
 * const second = await react.run("Why?", config, { thread: first.thread });
 * second.thread.entryCount; // 4
 */
const standalone: Standalone = Object.freeze({
  async run(content: Content | UserMessage, config: AnyAgent | AgentConfig, options: RunOptions<AnyAgent> = {}) {
    const agent = agentOf(config);
    checkRunOptions(options);
    return runOnce(agent, content, options);
  },
  stream(content: Content | UserMessage, config: AnyAgent | AgentConfig, options: RunOptions<AnyAgent> = {}) {
    return streamed(agentOf(config), content, options);
  },
  start: begun,
  async continue(token: string, config: AnyAgent | AgentConfig, options: ContinueOptions<AnyAgent> = {}) {
    checkContinueOptions(options);
    return continueRun(agentOf(config), token, options);
  },
  async collect(
    from: string | AsyncIterable<AgentEvent>,
    config: AnyAgent | AgentConfig,
    options: ContinueOptions<AnyAgent> = {},
  ) {
    if (typeof from === "string") {
      checkContinueOptions(options);
      return (await continueRun(agentOf(config), from, options)).result;
    }
    return collectEvents(from);
  },
  async cancel(token: string, config: AnyAgent | AgentConfig, options: CancelOptions<AnyAgent> = {}) {
    checkCancelOptions(options);
    return cancelRun(agentOf(config), token, options);
  },
}) as Standalone; // typed by the agents and configs of its callers

async function begun(
  content: Content | UserMessage,
  config: AnyAgent | AgentConfig,
  options: RunOptions<AnyAgent> = {},
): Promise<RunHandle> {
  const agent = agentOf(config);
  checkRunOptions(options);
  return (await beginRun(agent, content, options)).handle;
}

function streamed(
  agent: AnyAgent,
  content: Content | UserMessage,
  options: RunOptions<AnyAgent>,
): AsyncIterable<AgentEvent> {
  checkRunOptions(options);
  const startRun: RunStarter = async (onCheckpoint) => beginRun(agent, content, options, { onCheckpoint });
  return new EventStream(startRun, options.signal);
}

function agentOf(config: AnyAgent | AgentConfig): AnyAgent {
  return isAgent(config) ? config : (defineAgent(config as AgentConfig) as AnyAgent); // it checks its argument
}

/**
 * A ReAct agent as a value, for `cmd`. It calls a model and runs the tools that the answer calls, until an answer calls none.
 * Its functions run agents without a server: `react.run`, `stream`, `start`, `continue`, `collect`, `cancel`.
 *
 * @example
 * const agent = react({ tools: [{ name: "add", inputSchema: { type: "object" } }], maxIterations: 3 });
 * agent.strategy; // "react"
 */
export const react: ReactFunction & Standalone = Object.freeze(
  Object.assign((settings?: Partial<ReactSettings>, options: ReactOptions = {}) => {
    refuseUnknownOptions("react", options, { thread: true, ports: true });
    return reactAgent(reactSettings(settings), options.ports, options.thread);
  }, standalone),
);

/** Options of `react()`: the thread and the ports of the agent. */
export interface ReactOptions {
  /** The thread of the agent. To resume a thread, use `restore`. Default: an empty thread. */
  readonly thread?: Thread | undefined;
  /** Clock and ids. Default `systemPorts`. */
  readonly ports?: Ports | undefined;
}

type ReactFunction = (settings?: Partial<ReactSettings>, options?: ReactOptions) => ReactAgent;
