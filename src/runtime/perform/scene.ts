import type { AnyAgent } from "../../agent/definition/config.ts";
import { type ProviderModel, type ResolveModel, staticModels } from "../../agent/definition/language-model.ts";
import type { RequestScope } from "../../agent/definition/prepare.ts";
import type { InputSchema } from "../../agent/definition/schema.ts";
import type { AnyTool, ResolveTool, Tools } from "../../agent/definition/tool.ts";
import type { ToolExec } from "../../agent/directive.ts";
import type { AgentEvent } from "../../agent/event.ts";
import type { ReactAgent } from "../../agent/react/agent.ts";
import { heldFor, modeFailure } from "../../agent/react/call-context.ts";
import type { Failure } from "../../agent/signal.ts";
import type { CommandOutcome } from "../../stores/command.ts";
import type { ThreadStore } from "../../stores/port.ts";
import type { Refs } from "../../thread/entry.ts";
import type { Message } from "../../thread/message.ts";
import type { ErrorOrigin } from "../callbacks.ts";
import type { RemoteCall } from "../live/live.ts";
import type { RuntimePorts } from "../ports.ts";
import type { LiveRequest } from "../request/request.ts";
import { RequestError } from "../request/request-error.ts";
import type { Holder } from "../session/holder.ts";
import type { ThreadBlobs } from "../session/thread-blobs.ts";
import type { Tokens } from "../session/tokens.ts";
import type { AskSpan, Telemetry } from "../telemetry/telemetry.ts";
import { type HookLimit, untilAborted } from "../time-limits.ts";
import type { Places, ToolPool } from "../tools/limits.ts";

/** The values of a request that are not in the log, and the models that were found for it. */
export interface TransientValues {
  readonly tools?: Tools;
  readonly headers?: { readonly [name: string]: string };
  readonly output?: InputSchema;
  /** The span of a request whose ask is not committed yet. */
  readonly asked?: AskSpan;
  /** Empty: they were not found. */
  readonly models: readonly ProviderModel[];
  /** Makes the values that could not be made when the request was resumed. */
  readonly makeMissing?: (() => Promise<MadeLater>) | undefined;
}

interface MadeLater {
  /** The function has failed again. */
  readonly failure?: Failure | undefined;
  /** The agent has values now that change the context of its next call. */
  readonly isNewContext: boolean;
}

/** The models of an agent that are known without a request. Empty if they are named, or chosen by a function. */
export function ownModels({ model }: AnyAgent): readonly ProviderModel[] {
  const list = staticModels(model);
  return list.every((item) => typeof item !== "string") ? list : [];
}

/** The places of a host for model calls. */
export interface ModelPlaces extends Pick<Places, "isOver"> {
  /** Makes a call of a model, `provider:model`, when it has a place. When the signal aborts, it waits no longer. */
  run<Result>(call: () => Promise<Result>, signal: AbortSignal, model: string | undefined): Promise<Result>;
}

/** The part of a thread that effects use. */
export interface Scene {
  readonly definition: AnyAgent;
  readonly threadId: string;
  readonly store: ThreadStore;
  readonly ports: RuntimePorts;
  readonly pool: ToolPool;
  /** The places for model calls of the host. Absent: there is no limit. */
  readonly modelPlaces: (() => ModelPlaces | undefined) | undefined;
  readonly telemetry: Telemetry;
  readonly agent: () => ReactAgent;
  /** Fails the request. */
  readonly fail: (failure: Failure) => void;
  /** The tools as they are now. */
  readonly tools: () => Tools;
  /** Whether the claim is valid: no other process can hold the thread. */
  readonly isHeld: () => boolean;
  /** As `isHeld`, after a renewal if the last one is too old. When it is false, the request has ended here. */
  readonly ensureHeld: () => Promise<boolean>;
  /** Asks the store before anything starts, because time has passed since the last append. */
  readonly doubtHeld: () => void;
  readonly scope: (requestId: string) => RequestScope<never>;
  readonly resolveModel: ResolveModel | undefined;
  readonly transient: (requestId: string | undefined) => TransientValues;
  /** The messages that a model call was shown, if it is the last one. */
  readonly shown: (callId: string) => readonly Message[];
  /** The working time, if the request has a time limit. It is stored with entries for the next process. */
  readonly worked: () => { readonly workedMs?: number };
  /** Whether a stop has begun: no work may start. */
  readonly isStopping: () => boolean;
  /** Made when it is first wanted, and aborted when a stop begins: no retry is waited for. */
  readonly stopping: () => AbortSignal;
  /** Whether the call has its result; "soon" while one is written that a steer gives it. */
  readonly isClosed: (call: ToolExec) => boolean | "soon";
  /** Resolves when no entries are being written. */
  readonly rest: () => Promise<void>;
  /** A tool call starts to run. Without an id: the model call is sent. */
  readonly began: (toolCallId?: string) => void;
  /** Passes each warning on once. */
  readonly warn: (message: string) => void;
  /** Called with each original error. It never throws. */
  readonly onError: (error: unknown, origin: ErrorOrigin) => void;
  readonly blobs: ThreadBlobs;
  /** A time is stored at which the thread must be live. */
  readonly wake: (at: number) => void;
  /** A host serves the agents that tools ask. */
  readonly asksAgents: boolean;
  readonly handOff: ThreadOptions["handOff"];
}

/** The other agents of a host, to which a request may be handed over. */
interface OtherAgents {
  readonly serves: (name: string) => boolean;
  /** Gives the thread to this agent, with its open request. The failure, if it has no prompt or no model for that. */
  readonly change: (name: string, signal: AbortSignal | undefined) => Promise<Failure | undefined>;
}

/** The time limit of a function of the caller in a request. */
export function hookLimitOf({ ports, definition }: Scene, { abort: { signal } }: LiveRequest): HookLimit {
  return { ports, timeoutMs: definition.hookTimeoutMs, signal };
}

/** Whether work of the request may start: it was not interrupted, and the claim is valid. */
export async function mayStart(scene: Scene, { abort: { signal } }: LiveRequest): Promise<boolean> {
  if (signal.aborted) return false;
  if (scene.isHeld()) return true;
  const isHeld = await untilAborted(signal, () => scene.ensureHeld()).catch(() => false); // it was interrupted
  return isHeld && !signal.aborted;
}

/** The model was not called: the host stops. */
export const NOT_CALLED = new RequestError({
  code: "server_stopped",
  message: "This host was stopped before the call.",
});

/** Makes a model call when the host has a place for it. Without a host, or before its `work`, at once. Throws `NOT_CALLED`. */
export function inPlace<Result>(
  { modelPlaces }: Scene,
  signal: AbortSignal,
  model: string | undefined,
  call: () => Promise<Result>,
): Promise<Result> {
  const places = modelPlaces?.();
  if (places === undefined) return call();
  const begun = async (): Promise<Result> => {
    if (places.isOver) throw NOT_CALLED;
    return call();
  };
  return places.run(begun, signal, model);
}

/** The code of a tool, and the hash of the specification that it was registered with. */
export interface RegisteredTool {
  readonly hash: string;
  readonly tool: AnyTool;
}

/** The headers that a resumed request was asked with. */
export type ServerHeaders = (
  threadId: string,
  refs: Refs,
  agent: string,
) => TransientValues["headers"] | undefined | Promise<TransientValues["headers"] | undefined>;

/** The options of a live thread. */
export interface ThreadOptions {
  readonly definition: AnyAgent;
  readonly threadId: string;
  readonly store: ThreadStore;
  readonly ports: RuntimePorts;
  readonly telemetry: Telemetry;
  readonly holder: Holder | undefined;
  readonly warn: (message: string) => void;
  /** Passes each warning on once. */
  readonly warnOnce: (message: string) => void;
  readonly onError: (error: unknown, origin: ErrorOrigin) => void;
  readonly tokens: Tokens | undefined;
  /** The context of a request that a crash has interrupted. */
  readonly context: (threadId: string, refs: Refs, agent: string) => unknown;
  /** The tools of the ask of such a request. */
  readonly tools: ((threadId: string, refs: Refs, agent: string) => Tools | Promise<Tools>) | undefined;
  /** The tools that were registered on the thread in this process, by name. A host keeps them while the thread is released. */
  readonly registered: Map<string, RegisteredTool>;
  /** Finds the code of a tool that was registered in another process. */
  readonly resolveTool: ResolveTool | undefined;
  readonly resolveModel: ResolveModel | undefined;
  /** The headers that the request came with. */
  readonly headers: ServerHeaders | undefined;
  readonly listen: (event: AgentEvent) => void;
  /** Performs a call of another process. Its outcome is undefined when the call has to be performed again. */
  readonly performCall: (call: RemoteCall) => Promise<PerformedCall | undefined>;
  /** Called after the commit of a time at which the thread must be live, in milliseconds since 1970. */
  readonly wake: (at: number) => void;
  /** Another thread got a command, or may have to be started for its own. Absent where no host serves it. */
  readonly sent?: ((threadId: string, agent: string | undefined, context: unknown) => void) | undefined;
  readonly modelPlaces?: (() => ModelPlaces | undefined) | undefined;
  /** Absent where no host serves the thread. */
  readonly handOff?: OtherAgents | undefined;
  /** Resolves when an ask without a caller in this process may begin. Undefined: at once. */
  readonly mayStart?: (() => Promise<void> | undefined) | undefined;
  /** Called when another process holds the thread or the store is closed, so that this process can do nothing more. */
  readonly lost: (error: unknown) => void;
}

/** The outcome of a remote call, and what follows when it is durable. */
export interface PerformedCall {
  readonly outcome: CommandOutcome;
  readonly after?: () => void;
}

/** The functions that the request was asked with and this process lacks, as the failure of the request. */
function lostOptions(scene: Scene, requestId: string): Failure | undefined {
  const { run } = scene.agent().state;
  if (run?.requestId !== requestId) return undefined;
  const { hasContext = false, askedTools = [], askedHeaders = [], model = [] } = run.options;
  const tools = scene.tools();
  const { headers = {}, models } = scene.transient(requestId);
  const unknownMode = modeFailure(scene.definition, heldFor(scene.agent()));
  if (unknownMode !== undefined) return unknownMode;
  const lost = [
    ...(hasContext && scene.scope(requestId).context === undefined ? ["the context"] : []),
    ...askedTools.filter((name) => !Object.hasOwn(tools, name)).map((name) => `the tool ${name}`),
    ...askedHeaders.filter((name) => !Object.hasOwn(headers, name)).map((name) => `the header ${name}`),
    ...(models.length === 0 ? model.map((name) => `the model ${name}`) : []),
  ];
  if (lost.length === 0) return undefined;
  const message = `The request was asked with ${lost.join(", ")}, which this process does not have. Give its server or host the functions \`context\`, \`tools\`, \`headers\` and \`resolveModel\`, and ask again.`;
  return { code: "options_lost", message };
}

/**
 * Makes values of a resumed request that could not be made before, for the first call that needs them. `lost`: what this
 * process lacks.
 */
export async function makeMissing(
  scene: Scene,
  requestId: string,
): Promise<{ readonly lost: Failure | undefined; readonly isNewContext: boolean }> {
  const { failure, isNewContext = false } = (await scene.transient(requestId).makeMissing?.()) ?? {};
  return { lost: failure ?? lostOptions(scene, requestId), isNewContext };
}
