import { modelIdentity, qualifiedModelName } from "../../agent/definition/language-model.ts";
import type { Tools } from "../../agent/definition/tool.ts";
import { ProjectionError } from "../../projection/error.ts";
import { invalid, type ProjectionInput } from "../../projection/input/input.ts";
import type { ContextPolicyInput } from "../../projection/policy/fields.ts";
import { ContextPolicy, limitsOf, UNKNOWN_WINDOW } from "../../projection/policy/policy.ts";
import type { Projection } from "../../projection/projection.ts";
import { createProjector, type Projector } from "../../projection/projector.ts";
import { type ModelMessage, toModelMessages } from "../../providers/ai-sdk/model-messages.ts";
import type { AISDKProviderOptions } from "../../providers/ai-sdk/types.ts";
import { thawObject } from "../../providers/message-parts.ts";
import { isPlainObject, type JsonObject, type JsonValue, sameJson } from "../../thread/json.ts";
import type { Message, Part, ToolSpec } from "../../thread/message.ts";
import type { OptionNames } from "../../thread/options.ts";
import { Thread } from "../../thread/thread.ts";
import type { TokenCounter } from "../../tokens/counter.ts";
import { ignoreErrorsOf, systemWarn, warnOnce } from "../callbacks.ts";
import { bindsThinking, planThinking, type ThinkingModel, withKnownFiles } from "../model/prompt.ts";
import type { ModelSettings } from "../model/specification.ts";
import { checkUIOptions } from "../option-names.ts";
import { toolSpecsOf } from "../tools/schemas.ts";

/** The policy and the settings of the call that `projectionStep()` counts with. */
export interface ProjectionStepOptions {
  /** Default: that of the step's model, as an agent has it. Fields without a value are filled in as for agents. */
  readonly policy?: ContextPolicyInput | undefined;
  /** Instead of the instructions of the call. Either is counted. Default: the instructions of the call. */
  readonly system?: string | undefined;
  /** The tools of the call, so that they are counted. Default: none. */
  readonly tools?: Tools | undefined;
  /** Default `heuristic`. */
  readonly tokenCounter?: TokenCounter | undefined;
  /** The `providerOptions` of the call, if they set thinking. They are only read. Default: unknown. */
  readonly providerOptions?: StepSettings["providerOptions"];
  /** The `reasoning` of the call. It is only read. Default: unknown. */
  readonly reasoning?: StepSettings["reasoning"];
  /** The number of conversations in the cache. Default 16. */
  readonly keep?: number | undefined;
  /** Where warnings go, each once. Default `console.warn`. */
  readonly warn?: ((message: string) => void) | undefined;
}

/** A cached conversation, and the model and prompt that its projections depend on. */
interface CachedConversation {
  readonly log: ModelLog;
  readonly model: string;
  readonly system: string;
}

/** The fields of the argument of `prepareStep` that are read. */
export interface ProjectionStepInput<M extends object> {
  readonly model: StepModel;
  readonly messages: readonly M[];
  /** Since version 7 of the AI SDK. Before that, `messages` always held the whole conversation. */
  readonly initialMessages?: readonly M[] | undefined;
  readonly responseMessages?: readonly M[] | undefined;
  readonly steps: readonly {
    readonly response: { readonly messages: readonly M[] };
    readonly experimental_steeringMessages?: readonly M[] | undefined;
  }[];
  readonly experimental_steeringMessages?: readonly M[] | undefined;
  readonly instructions?: unknown;
}

/** A `prepareStep`. */
export type ProjectionStep = <M extends object>(
  step: ProjectionStepInput<M>,
) => Promise<{ messages: M[]; instructions?: string; providerOptions?: AISDKProviderOptions }>;

/**
 * A `prepareStep` for `generateText`, `streamText` and `ToolLoopAgent`. It projects the whole conversation for each
 * step: the messages fit the budget, no call loses its result, the ask stays, and the prefix is stable. An unchanged
 * message is the same object. A conversation that cannot fit is a ProjectionError.
 *
 * @example
 * const prepareStep = projectionStep({ policy: { maxInputTokens: 32_000 } });
 * console.log(typeof prepareStep); // function, for generateText({ model, tools, prompt, prepareStep })
 */
export function projectionStep(options: ProjectionStepOptions = {}): ProjectionStep {
  checkUIOptions("projectionStep", options, OPTION_NAMES);
  const { policy, system, tools = {}, tokenCounter, keep = 16 } = options;
  if (!Number.isSafeInteger(keep) || keep < 1) throw invalid("keep", "must be a whole number of at least 1", keep);
  const warn = warnOnce(ignoreErrorsOf(options.warn ?? systemWarn));
  let toolSpecs: Promise<readonly ToolSpec[]> | undefined;
  let cached: readonly CachedConversation[] = [];

  const logFor = (stepModel: StepModel, prompt: string, specs: readonly ToolSpec[], step: StepMessages): ModelLog => {
    const model = JSON.stringify(
      typeof stepModel === "string"
        ? stepModel
        : [stepModel.provider, stepModel.modelId, stepModel.specificationVersion],
    );
    const known = cached
      .filter((each) => each.model === model && each.system === prompt && each.log.isBeginningOf(...step))
      .reduce<CachedConversation | undefined>(
        (a, b) => (a && a.log.messages.length >= b.log.messages.length ? a : b),
        undefined,
      );
    const found = known ?? {
      log: new ModelLog(inputOf(stepModel, prompt, specs), stepModel, step[1]),
      model,
      system: prompt,
    };
    cached = [found, ...cached.filter((each) => each !== found)].slice(0, keep);
    return found.log;
  };
  const inputOf = (stepModel: StepModel, prompt: string, specs: readonly ToolSpec[]): ModelLogInput => {
    const model = stepModelName(stepModel);
    if (policy?.maxInputTokens === undefined && limitsOf(model) === undefined && !WITHOUT_WINDOW.test(model)) {
      warn(
        `Heddle does not know the window of ${model}: projectionStep shows it ${UNKNOWN_WINDOW} tokens at most. Set policy: { maxInputTokens } to what the model can read.`,
      );
    }
    const resolved = ContextPolicy.resolve({ request: policy, model });
    return { policy: resolved, system: prompt === "" ? undefined : prompt, tools: specs, tokenCounter };
  };

  return async <M extends object>(step: ProjectionStepInput<M>) => {
    toolSpecs ??= toolSpecsOf(withoutProviders(tools));
    const specs = await toolSpecs;
    const [lead, messages] = split(logOf(step));
    const prompt = [system ?? textOf(step.instructions), ...lead.map(textOf)]
      .filter((text) => text !== "")
      .join("\n\n");
    const log = logFor(step.model, prompt, specs, [messages, askIndexOf(step, lead.length)]);
    log.take(messages);
    const projection = log.project();
    const { isBare, providerOptions, warnings } = stepThinking(step.model, projection, options, log.hasThinking);
    for (const warning of warnings) warn(warning);
    const all = shownOf(log, sendable(step.model, projection, options)) as M[]; // the caller's messages, and new ones of the same shape
    const shown = isBare ? all.flatMap((message) => withoutReasoning(message) ?? []) : all;
    return {
      messages: [...lead, ...shown],
      ...(system !== undefined && { instructions: system }),
      ...(providerOptions !== undefined && { providerOptions }),
    };
  };
}

const OPTION_NAMES: OptionNames<ProjectionStepOptions> = {
  policy: true,
  system: true,
  tools: true,
  tokenCounter: true,
  providerOptions: true,
  reasoning: true,
  keep: true,
  warn: true,
};

/** A scripted model has no window of its own. */
const WITHOUT_WINDOW = /^scripted:/;

type StepMessages = readonly [messages: readonly object[], askIndex: number];

/** The whole conversation. `step.messages` may be the projection of an earlier step, from which messages were cut. */
function logOf<M extends object>(step: ProjectionStepInput<M>): readonly M[] {
  const { initialMessages, responseMessages = [], steps, experimental_steeringMessages: steering = [] } = step;
  if (initialMessages === undefined) return step.messages;
  const ofSteps = steps.flatMap(({ response }) => response.messages);
  const before = responseMessages.slice(0, responseMessages.length - ofSteps.length);
  const since = steps.flatMap(({ experimental_steeringMessages: steered = [], response }) => [
    ...steered,
    ...response.messages,
  ]);
  return [...initialMessages, ...before, ...since, ...steering];
}

/** System messages at the beginning stay where they are. */
function split<M extends object>(messages: readonly M[]): readonly [readonly M[], readonly M[]] {
  const end = messages.findIndex((message) => roleOf(message) !== "system");
  return end < 0 ? [messages, []] : [messages.slice(0, end), messages.slice(end)];
}

function askIndexOf<M extends object>({ messages, initialMessages = messages }: ProjectionStepInput<M>, lead: number) {
  return Math.max(0, initialMessages.findLastIndex((message) => roleOf(message) === "user") - lead);
}

function roleOf(message: object): unknown {
  return "role" in message ? message.role : undefined;
}

/** The text of instructions: a text, a system message, or several. */
function textOf(instructions: unknown): string {
  if (typeof instructions === "string") return instructions;
  if (Array.isArray(instructions)) return instructions.map(textOf).join("\n\n");
  return isPlainObject(instructions) ? textOf(instructions["content"]) : "";
}

/** A provider's own tools have no schema to count. */
function withoutProviders(tools: Tools): Tools {
  return Object.fromEntries(Object.entries(tools).filter(([, tool]) => !("type" in tool) || tool.type !== "provider"));
}

/** The messages of a projection. An unchanged one is returned as the caller's own object, the others are made here. */
function shownOf(log: ModelLog, { messages, provenance }: Projection): readonly object[] {
  const shown: object[] = [];
  let made: Message[] = [];
  const flush = (): void => {
    shown.push(...toModelMessages(made).map(withoutLooseItems));
    made = [];
  };
  for (let at = 0; at < messages.length; ) {
    const message = messages[at];
    if (message === undefined) break;
    const seqs = provenance[at]?.seqs ?? [];
    const index = seqs.length === 1 ? log.indexes[seqs[0] ?? -1] : undefined;
    const count = index === undefined ? 0 : (log.counts[index] ?? 0);
    const isWhole =
      count > 0 &&
      Array.from({ length: count }, (_, next) => at + next).every((place) => {
        const [seq = -1, ...others] = provenance[place]?.seqs ?? [];
        return others.length === 0 && log.indexes[seq] === index && isUnchanged(messages[place], log.payload(seq));
      });
    if (isWhole && index !== undefined) {
      flush();
      shown.push(log.messages[index] as object); // an index of this log
      at += count;
    } else {
      if (message.role !== "system" || provenance[at]?.segment !== "system") made.push(message);
      at += 1;
    }
  }
  flush();
  return shown;
}

/** Files that the model is known to refuse are notes. A model given by its name is not changed. */
function sendable(model: StepModel, projection: Projection, { providerOptions }: StepSettings): Projection {
  if (typeof model === "string") return projection;
  const settings = providerOptions === undefined ? {} : { providerOptions };
  return { ...projection, messages: withKnownFiles(model, projection.messages, settings) };
}

function isUnchanged(
  message: Message | undefined,
  { contextRef: _lane, call: _call, ...content }: JsonObject,
): boolean {
  return message !== undefined && sameJson(message as unknown as JsonValue, content);
}

/** OpenAI accepts an item with an id only together with the thinking before it. Without that thinking the id is removed. */
function withoutLooseItems(message: ModelMessage): ModelMessage {
  if (message.role !== "assistant" || typeof message.content === "string") return message;
  if (message.content.some(({ type }) => type === "reasoning")) return message;
  for (const part of message.content) {
    if ("providerOptions" in part) delete part.providerOptions?.["openai"]?.["itemId"]; // the message was made above
  }
  return message;
}

/** The known settings of a step's call. Without both fields they are unknown. */
interface StepSettings {
  readonly providerOptions?: AISDKProviderOptions | undefined;
  readonly reasoning?: ModelSettings["reasoning"] | undefined;
}

/** The changes that a step needs, so that its provider accepts the thinking in its messages. */
interface StepThinking {
  /** For `prepareStep`: the AI SDK merges it into the options of the call. */
  readonly providerOptions?: AISDKProviderOptions;
  /** Whether the messages are sent without thinking. */
  readonly isBare: boolean;
  readonly warnings: readonly string[];
}

const UNCHANGED: StepThinking = { isBare: false, warnings: [] };

/** `hasThinking`: whether the conversation has thinking. A model given by its name is not changed. */
function stepThinking(
  model: StepModel,
  { messages, meta }: Projection,
  known: StepSettings,
  hasThinking: boolean,
): StepThinking {
  if (!isWhole(model) || !hasThinking) return UNCHANGED;
  const settings = settingsOf(model, known);
  const plan = planThinking({ model, messages, settings, isStale: meta.view.thinkingStale !== undefined });
  const thinking = plan.settings === settings ? undefined : plan.settings.providerOptions?.["anthropic"]?.["thinking"];
  return {
    ...(thinking !== undefined && { providerOptions: { anthropic: thawObject({ thinking }) } }),
    isBare: plan.messages !== messages,
    warnings: plan.warnings,
  };
}

function isWhole(model: StepModel): model is ThinkingModel {
  return typeof model !== "string" && /^v[234]$/.test(model.specificationVersion ?? "");
}

/**
 * Without known settings, a new Claude with thinking in the conversation is assumed to think adaptively, and the step
 * asks for that. An older one is assumed to think with a budget, its only way.
 */
function settingsOf(model: ThinkingModel, { providerOptions, reasoning }: StepSettings): ModelSettings {
  if (providerOptions === undefined && reasoning === undefined) {
    return { providerOptions: { anthropic: { thinking: { type: bindsThinking(model) ? "adaptive" : "enabled" } } } };
  }
  return { ...(providerOptions && { providerOptions }), ...(reasoning && { reasoning }) };
}

/** A message without its thinking; undefined if it has no other content. */
function withoutReasoning<M extends object>(message: M): M | undefined {
  const content = "content" in message && Array.isArray(message.content) ? message.content : undefined;
  if (content === undefined) return message;
  const rest = content.filter((part: { readonly type?: unknown }) => part.type !== "reasoning");
  if (rest.length === content.length) return message;
  return rest.length === 0 ? undefined : { ...message, content: rest };
}

/** The model of a step: its name, or the model itself. */
type StepModel =
  | string
  | { readonly provider: string; readonly modelId: string; readonly specificationVersion?: string | undefined };

/** The input of a projection except for the thread. */
type ModelLogInput = Omit<ProjectionInput, "thread" | "model" | "pending" | "previous">;

/** A list of ModelMessages as a thread, and which entries each message became. */
class ModelLog {
  readonly #projector: Projector = createProjector({ keep: 1 });
  readonly #input: ModelLogInput;
  readonly #model: StepModel;
  /** For each entry, the index of its message. */
  readonly indexes: number[] = [];
  /** For each message, the number of its entries. */
  readonly counts: number[] = [];
  readonly messages: object[] = [];
  /** Whether a message has thinking. */
  hasThinking = false;
  readonly #askIndex: number;
  #thread = Thread.create({ id: "thread_of_a_step", clock: () => 0 });

  /** Messages from `askIndex` belong to one request, whose ask is never cut. */
  constructor(input: ModelLogInput, model: StepModel, askIndex: number) {
    this.#input = input;
    this.#model = model;
    this.#askIndex = askIndex;
  }

  /** Whether the list begins with the messages of this log, and has the same ask. */
  isBeginningOf(messages: readonly object[], askIndex: number): boolean {
    return askIndex === this.#askIndex && this.messages.every((message, index) => message === messages[index]);
  }

  /** Appends the messages that are not in the log. */
  take(messages: readonly object[]): void {
    for (const [index, message] of messages.entries()) {
      if (index >= this.messages.length) this.#add(message, index, index >= this.#askIndex);
    }
  }

  project(): Projection {
    return this.#projector.project({ ...this.#input, model: stepModelName(this.#model), thread: this.#thread });
  }

  payload(seq: number): JsonObject {
    return this.#thread.at(seq)?.payload ?? {};
  }

  #add(message: object, index: number, isOfRequest: boolean): void {
    const payloads = payloadsOf(message);
    const hasThinking = payloads.some(({ content }) => Array.isArray(content) && content.some(isThinking));
    this.hasThinking ||= hasThinking;
    const fingerprint = hasThinking ? this.#fingerprint() : undefined;
    const entries = payloads.map((payload, at) => ({
      id: `message_${index}_${at}`,
      kind: "ai_message",
      payload: { ...this.#signed(payload), ...(fingerprint !== undefined && { call: { fingerprint } }) },
      refs: isOfRequest ? { requestId: "request" } : {},
    }));
    this.#thread = this.#thread.append(entries);
    this.messages.push(message);
    this.counts.push(entries.length);
    for (const _ of entries) this.indexes.push(index);
  }

  /** The fingerprint of the call that gave the next answer. The projection is pure, so it can be computed again here. */
  #fingerprint(): string | undefined {
    try {
      return this.project().meta.fingerprint;
    } catch (error) {
      if (!ProjectionError.isInstance(error)) throw error;
      return undefined; // no call of this list gave the answer
    }
  }

  /** Signs thinking with this model, because messages do not name the model that made it. */
  #signed(payload: JsonObject): JsonObject {
    const { content } = payload;
    if (!Array.isArray(content)) return payload;
    const maker = typeof this.#model === "string" ? makerIn(this.#model) : modelIdentity(this.#model);
    const { provider, modelId: model } = maker;
    return {
      ...payload,
      content: content.map((part) => (isThinking(part) ? { ...(part as Part), provider, model } : part)),
    };
  }
}

/** The name of the model of a step, as the model table knows it. */
function stepModelName(model: StepModel): string {
  return typeof model === "string" ? model : qualifiedModelName(model);
}

function makerIn(name: string): { readonly provider: string; readonly modelId: string } {
  const [, provider = "unknown", modelId = name] = /^([^:/]*)[:/](.*)$/.exec(name) ?? [];
  return { provider, modelId };
}

function isThinking(part: JsonValue): boolean {
  return isPlainObject(part) && part["type"] === "thinking";
}

/** The payloads of the entries that a message becomes. */
function payloadsOf(message: object): readonly JsonObject[] {
  const { role, content } = message as { readonly role?: unknown; readonly content?: unknown };
  if (role === "system") return [{ contextRef: "default", role, content: String(content) }];
  return Thread.fromMessages([message], { format: "model-messages" })
    .toArray()
    .map(({ payload }) => {
      const { original: _, ...rest }: JsonObject = payload;
      const { toolCalls } = rest;
      return Array.isArray(toolCalls) ? { ...rest, toolCalls: toolCalls.map(withoutApproval) } : rest;
    });
}

/** Approvals are left out: the loop has run the approved calls before it prepares a step. */
function withoutApproval(call: JsonValue): JsonValue {
  const { approval: _, ...rest } = call as JsonObject; // already read as a call
  return rest;
}
