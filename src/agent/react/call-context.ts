import { type HeldSettings, heldSettings, specOfSetting } from "../../lanes/setting.ts";
import { ProjectionError } from "../../projection/error.ts";
import type { ContextPolicyInput } from "../../projection/policy/fields.ts";
import { ContextPolicy, limitsOf, type PolicySources } from "../../projection/policy/policy.ts";
import type { Projection } from "../../projection/projection.ts";
import { portableSha256 } from "../../thread/encoding.ts";
import { ignoreRejection } from "../../thread/errors.ts";
import { isPlainObject, type JsonObject, type JsonValue } from "../../thread/json.ts";
import { authorName, type Content, type ToolSpec, withAuthorName } from "../../thread/message.ts";
import type { Thread } from "../../thread/thread.ts";
import { type CallSample, calibrate } from "../../tokens/calibrate.ts";
import {
  countMessage,
  countTools,
  factsOf,
  fileTokens as fileTokensOf,
  heuristic,
  messageFiles,
  type TokenCounter,
} from "../../tokens/counter.ts";
import type { Mode } from "../definition/config.ts";
import { type InputSchema, objectSchemaOf } from "../definition/schema.ts";
import type { CallBasis, CallEnvironment, CallRecord } from "../model-call.ts";
import { recordedCall } from "../model-call.ts";
import type { Failure, Steer, StoredRequestOptions } from "../signal.ts";
import { type ReactAgent, wasHandedOver } from "./agent.ts";
import type { ReactSettings } from "./settings.ts";
import type { Run } from "./state.ts";

/** The context for the next model call, and the policy and counter that it was made with. */
export interface CallContext {
  readonly policy: ContextPolicy;
  readonly counter: TokenCounter;
  readonly projection: Projection;
  readonly held: HeldSettings;
}

/**
 * The settings of the log that hold for a request, or for the next one, which is on the active lane by default. A setting
 * during a request holds after it.
 */
export function heldFor(
  agent: ReactAgent,
  run: Run | undefined = agent.state.run,
  nextLane: string = agent.state.activeContextRef,
): HeldSettings {
  const { thread } = agent;
  if (run === undefined) return ofThisAgent(agent, heldSettings(thread, nextLane));
  return withAsked(ofThisAgent(agent, heldSettings(thread, run.lane, run.askSeq)), run.options);
}

/** In a thread that was handed over, a mode that this agent does not have was set for an agent before. */
function ofThisAgent(agent: ReactAgent, held: HeldSettings): HeldSettings {
  if (!wasHandedOver(agent) || modeFailure(agent.settings, held) === undefined) return held;
  const { mode: _ofOther, ...others } = held;
  return others;
}

/** The mode of an ask comes before all settings, and its system prompt before that of the mode. A mode of null is none. */
export function withAsked(held: HeldSettings, { mode, systemPrompt }: StoredRequestOptions): HeldSettings {
  const inMode = withMode(held, mode);
  if (systemPrompt === undefined) return inMode;
  return { ...inMode, systemPrompt, overMode: { ...inMode.overMode, systemPrompt: true } };
}

function withMode(held: HeldSettings, mode: StoredRequestOptions["mode"]): HeldSettings {
  if (mode === undefined) return held;
  const { mode: _set, ...without } = held;
  return mode === null ? without : { ...held, mode, overMode: {} };
}

/** The failure of a request whose mode is not one of the agent. Without the mode, the model could call other tools. */
export function modeFailure({ modes = {} }: Pick<ReactSettings, "modes">, { mode }: HeldSettings): Failure | undefined {
  if (mode === undefined || Object.hasOwn(modes, mode)) return undefined;
  const known = Object.keys(modes).join(", ") || "none";
  const message = `The agent has no mode ${JSON.stringify(mode)}. Its modes are: ${known}. Add it, or set another one with setMode; setMode(null) sets none. An ask with \`mode: null\` has none.`;
  return { code: "mode_unknown", message };
}

/** The mode that holds, without its model. */
export function modeOf({ modes = {} }: Pick<ReactSettings, "modes">, { mode }: HeldSettings): Omit<Mode, "model"> {
  return mode !== undefined && Object.hasOwn(modes, mode) ? (modes[mode] ?? {}) : {};
}

/** The model that the next call is made with: after failures a fallback. */
export function currentModel({ settings: { model, fallbacks }, state: { run } }: ReactAgent): string | undefined {
  return run === undefined || run.modelIndex === 0 ? model : (fallbacks?.[modelIndexOf(run, fallbacks) - 1] ?? model);
}

/** The definition may have fewer models than the one that the log was written with. */
function modelIndexOf({ modelIndex }: Run, fallbacks: readonly string[] = []): number {
  return Math.min(modelIndex, fallbacks.length);
}

/** Which model to call, for the directive. */
export function modelIndexFor({ settings }: ReactAgent, run: Run): { readonly modelIndex?: number } {
  const modelIndex = modelIndexOf(run, settings.fallbacks);
  return modelIndex === 0 ? {} : { modelIndex };
}

/** The policy of a request, its own fields before those that were set, and these before the agent's. */
export function policyOf(
  agent: ReactAgent,
  { contextPolicy }: HeldSettings,
  asked: Pick<Run, "options"> | undefined,
): ContextPolicy {
  const { settings } = agent;
  const request = asked?.options.contextPolicy;
  const longest = asked?.options.call?.["maxOutputTokens"] ?? settings.call["maxOutputTokens"];
  const maxOutputTokens = typeof longest === "number" ? longest : undefined;
  const sources = { definition: settings.contextPolicy, model: currentModel(agent), maxOutputTokens };
  if (request === undefined && contextPolicy === undefined) return ofDefinition(sources);
  const state = contextPolicy as ContextPolicyInput | undefined; // checked before it was written
  return ContextPolicy.resolve({ ...sources, request, state });
}

type DefinitionSources = Pick<PolicySources, "definition" | "model" | "maxOutputTokens">;

/** The last policy of each definition that cannot change. Most calls have the same as the call before. */
const LAST = new WeakMap<ContextPolicyInput, { readonly of: DefinitionSources; readonly policy: ContextPolicy }>();
const NO_POLICY: ContextPolicyInput = Object.freeze({});

function ofDefinition(of: DefinitionSources): ContextPolicy {
  const { definition = NO_POLICY, model, maxOutputTokens } = of;
  const last = LAST.get(definition);
  if (last?.of.model === model && last?.of.maxOutputTokens === maxOutputTokens && last !== undefined)
    return last.policy;
  const policy = ContextPolicy.resolve(of);
  if ([definition, ...Object.values(definition)].every(Object.isFrozen)) LAST.set(definition, { of, policy });
  return policy;
}

/**
 * The policy of a run: the request's own, else the agent's. After a "too long" refusal, the prompt is limited by the numbers
 * of the refusal. Without numbers, its limit is half of the refused size or half of the usual limit, whichever is less. The
 * second policy is the fallback when the first one does not fit: half of the usual limit.
 */
function policiesFor(agent: ReactAgent, held: HeldSettings, run: Run): readonly [ContextPolicy, ContextPolicy?] {
  const policy = policyOf(agent, held, run);
  if (run.compactions === 0) return [policy];
  const { reserveOutputTokens, maxInputTokens } = policy;
  const half = Math.ceil((maxInputTokens - reserveOutputTokens) / 2);
  const less = Math.ceil(run.refusedTokens / 2);
  const { correctedRoom } = run;
  const within = (room: number): ContextPolicy =>
    ContextPolicy.resolve({ request: { ...policy, maxInputTokens: reserveOutputTokens + room, overflow: "shrink" } });
  if (correctedRoom !== undefined) return [within(Math.min(correctedRoom, maxInputTokens - reserveOutputTokens))];
  return less > 0 && less < half ? [within(less), within(half)] : [within(half)];
}

/** Projects the thread for a call. `pending` is the content of an ask that is not in the thread yet. */
export function contextForCall(
  agent: ReactAgent,
  run: Run,
  thread: Thread = agent.thread,
  pending?: Content,
): CallContext {
  const held = heldFor(agent, run);
  const [policy, wider] = policiesFor(agent, held, run);
  try {
    return projectWith({ policy, held }, agent, run, thread, pending);
  } catch (error) {
    if (wider === undefined || !isOverflow(error)) throw error;
    return projectWith({ policy: wider, held }, agent, run, thread, pending);
  }
}

function projectWith(
  { policy, held }: Pick<CallContext, "policy" | "held">,
  agent: ReactAgent,
  run: Run,
  thread: Thread,
  pending: Content | undefined,
): CallContext {
  const { settings } = agent;
  const counter = counterFor(policy, { ...settings, model: currentModel(agent) }, agent.thread);
  const projection = settings.projector.project({
    thread,
    pending: pending === undefined ? undefined : { role: "user", content: pending },
    policy,
    tokenCounter: counter,
    system: systemPromptOf(agent, held),
    tools: toolsFor(agent, run.options, held),
    lane: run.lane,
    model: currentModel(agent),
    readers: settings.readers,
  });
  checkProjection(projection);
  return { policy, counter, projection, held };
}

/** Whether a message fits with the ask of the run, the system prompt and the tools. Nothing else has to be shown with it. */
export function fitsAlone(agent: ReactAgent, message: Pick<Steer, "content" | "author">): boolean {
  const { settings, state, thread } = agent;
  const { run } = state;
  const model = currentModel(agent);
  const held = heldFor(agent);
  const policy = policyOf(agent, held, run);
  const counter = counterFor(policy, { ...settings, model }, thread);
  const ask = run && thread.at(run.askSeq)?.payload;
  const system = systemPromptOf(agent, held);
  const shown = [system, ...[ask as Partial<Steer> | undefined, message].map(shownContent)]; // the agent wrote the ask
  const tokens = shown.map((content = "") =>
    content === "" ? 0 : countMessage({ role: "user", content }, counter, model),
  );
  const spent = tokens.reduce(
    (sum, own) => sum + own,
    countTools(toolsFor(agent, run?.options ?? {}, held), counter, model),
  );
  return spent <= policy.maxInputTokens - policy.reserveOutputTokens;
}

function shownContent({ content = "", author }: Partial<Steer> = {}): Content {
  const name = authorName(author);
  return name === undefined ? content : withAuthorName(name, content);
}

/** Whether the context of the next call fits. Another error is for the call. */
export function fitsNextCall(agent: ReactAgent, run: Run): boolean {
  try {
    contextForCall(agent, run);
  } catch (error) {
    return !isOverflow(error);
  }
  return true;
}

export function isOverflow(error: unknown): boolean {
  return ProjectionError.isInstance(error) && error.code === "budget_overflow";
}

/** A projector of the caller may have no types. */
function checkProjection(given: unknown): void {
  const { messages, toolSpec, meta } = Object(given) as Partial<Projection>;
  if (Array.isArray(messages) && Array.isArray(toolSpec) && isPlainObject(meta)) return;
  ignoreRejection(given);
  throw new TypeError(
    "The projector must return a projection synchronously: an object with messages, toolSpec and meta.",
  );
}

/** The tools that the model is shown in a request. Those of the mode are a default of `allowedTools`. */
export function toolsFor(
  agent: ReactAgent,
  { askedTools = [], allowedTools }: StoredRequestOptions,
  held: HeldSettings,
): readonly ToolSpec[] {
  const tools = shownTools(agent, held, askedTools);
  const ofMode = modeOf(agent.settings, held).tools;
  const allowed = allowedTools ?? (ofMode && [...ofMode, ...askedTools]);
  return allowed === undefined ? tools : tools.filter(({ name }) => allowed.includes(name));
}

/** The tools of the agent as they were set. Those that came with the ask stay. A tool without code here is not shown. */
export function shownTools(
  { settings: { tools } }: ReactAgent,
  held: HeldSettings,
  asked: readonly string[] = [],
): readonly ToolSpec[] {
  if (held.tools.size === 0) return tools;
  return tools.flatMap((spec) => {
    const setting = asked.includes(spec.name) ? undefined : held.tools.get(spec.name);
    if (setting === undefined) return spec;
    return setting.type === "tool" ? specOfSetting(setting) : [];
  });
}

export function systemPromptOf({ settings, flight }: ReactAgent, held: HeldSettings): string | undefined {
  return setPrompt(settings, held) ?? flight.systemPrompt ?? settings.systemPrompt;
}

/** The prompt that was set: by itself, or by a mode. */
export function setPrompt(settings: Pick<ReactSettings, "modes">, held: HeldSettings): string | undefined {
  const ofMode = held.overMode?.systemPrompt ? undefined : modeOf(settings, held).systemPrompt;
  return ofMode ?? held.systemPrompt;
}

/**
 * The settings of the next model call: those of the ask before those of the agent. A choice of the ask that forces a tool holds
 * for the first call only, so that the request can end.
 */
export function callSettingsOf(
  { settings }: ReactAgent,
  { options, iteration }: Pick<Run, "options" | "iteration">,
  held: HeldSettings,
): JsonObject {
  const { reasoning } = modeOf(settings, held);
  const call = reasoning === undefined ? settings.call : { ...settings.call, reasoning };
  const { call: asked = {}, output } = options;
  const { toolChoice, providerOptions, ...own } = asked;
  const isForced = toolChoice === "required" || isPlainObject(toolChoice);
  const before = call["providerOptions"];
  return {
    ...call,
    ...own,
    ...(output && { responseFormat: { type: "json", schema: objectSchemaOf(output) } }),
    ...(toolChoice !== undefined && !(isForced && iteration > 0) && { toolChoice }),
    ...(isPlainObject(providerOptions) && { providerOptions: byProvider(before, providerOptions as JsonObject) }), // JSON
  };
}

/** The options of each provider, field by field. */
export function byProvider(before: JsonValue | undefined, options: JsonObject): JsonObject {
  const all = isPlainObject(before) ? (before as JsonObject) : {}; // JSON
  const merged = Object.entries(options).map(([name, own]) => {
    const known = all[name];
    return [name, isPlainObject(known) && isPlainObject(own) ? { ...known, ...own } : own] as const;
  });
  return { ...all, ...(Object.fromEntries(merged) as JsonObject) }; // of JSON
}

/** The record of a call's inputs, and the blobs that it names. */
export function callBasis(
  agent: ReactAgent,
  run: Run,
  context: CallContext,
): { readonly basis: CallBasis; readonly blobs: readonly JsonValue[] } {
  const model = currentModel(agent);
  const { policy, counter, held } = context;
  const { meta, toolSpec, messages } = context.projection;
  const systemPrompt = systemPromptOf(agent, held);
  const environment: CallEnvironment = {
    ...(systemPrompt !== undefined && { systemPrompt }),
    tools: toolSpec as unknown as readonly JsonObject[], // specs are JSON
    settings: callSettingsOf(agent, run, held),
  };
  const { id, version, factor } = factsOf(counter);
  const fileTokens = messages.flatMap(messageFiles).reduce((sum, file) => sum + fileTokensOf(file), 0);
  const basis: CallBasis = {
    ...(model !== undefined && { model }),
    basisRev: meta.basisRev,
    basisLastSeq: meta.basisLastSeq,
    lane: meta.lane,
    policy: ContextPolicy.hashOf(policy),
    environment: blobHash(environment),
    fingerprint: meta.fingerprint,
    projector: meta.projector,
    counter: { id, version },
    calibration: factor,
    view: meta.view,
    estimatedTokens: meta.estimatedTokens,
    ...(fileTokens > 0 && { fileTokens }),
    ...(held.seqs.length > 0 && { settingSeqs: held.seqs }),
  };
  return { basis, blobs: [policy as unknown as JsonValue, environment] };
}

/** The hash under which a store keeps a JSON blob. */
function blobHash(blob: JsonValue): string {
  return portableSha256(JSON.stringify(blob));
}

/** A safety margin: the texts of the next call may need more tokens per character. */
const MARGIN = 0.95;

/**
 * The largest estimate for the next prompt, after one was refused as too long. Uses the numbers of the refusal, else the
 * usage of earlier calls. Undefined when neither explains the refusal.
 */
export function roomAfterRefusal(
  agent: ReactAgent,
  { estimatedTokens, calibration, model }: CallRecord,
  { promptTokens, maxPromptTokens }: Failure,
): number | undefined {
  const share =
    promptTokens !== undefined && maxPromptTokens !== undefined
      ? promptTokens / estimatedTokens
      : reportedShare(agent, calibration);
  const limit = maxPromptTokens ?? (model === undefined ? undefined : limitsOf(model)?.window);
  if (share === undefined || limit === undefined) return undefined;
  const room = Math.floor((MARGIN * limit) / share);
  return room >= 1 && room < estimatedTokens ? room : undefined;
}

/** The most entries to search for the usage of earlier calls. The limit keeps the cost constant for long threads. */
const LOOK_BACK = 200;

/** The counter that a policy names. "calibrated" is corrected by the usage of this model's last calls. */
export function counterFor(
  policy: ContextPolicy,
  { exactCounter = heuristic, model }: Pick<ReactSettings, "exactCounter" | "model">,
  thread: Thread,
): TokenCounter {
  switch (policy.tokenEstimator) {
    case "heuristic":
      return heuristic;
    case "exact":
      return exactCounter;
    case "calibrated":
      return calibrate(heuristic, samplesOf(thread, model));
    default:
      return policy.tokenEstimator satisfies never;
  }
}

/** Reported tokens divided by estimated tokens, for estimates with this factor. Undefined before the first call. */
function reportedShare(agent: ReactAgent, factor: number): number | undefined {
  // The files of the refused call are those of the calls before.
  const samples = samplesOf(agent.thread, currentModel(agent)).map((sample) => ({ ...sample, fileTokens: 0 }));
  return samples.length === 0 ? undefined : calibrate(heuristic, samples).factor / factor;
}

function samplesOf(thread: Thread, model: string | undefined): readonly CallSample[] {
  const from = Math.max(thread.firstSeq, thread.rev - LOOK_BACK);
  return thread.slice(from, Math.max(from, thread.lastSeq)).flatMap((entry) => {
    const call = recordedCall(entry);
    if (call === undefined || call.model !== model) return [];
    const { estimatedTokens: estimated, calibration: factor, usage, fileTokens } = call;
    const reported = isPlainObject(usage) && usage["estimated"] !== true ? usage["inputTokens"] : undefined;
    if (typeof estimated !== "number" || typeof reported !== "number" || typeof factor !== "number") return [];
    return [{ estimated, reported, factor, fileTokens }];
  });
}

/** The stored schema of an answer whose ask had one of its own. */
export function outputAsked(run: Pick<Run, "options"> | undefined): InputSchema | undefined {
  const schema = run?.options.output;
  return schema && { jsonSchema: schema };
}
