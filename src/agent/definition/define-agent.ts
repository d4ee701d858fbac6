import { troubleInRule } from "../../lanes/setting.ts";
import { checkedInput } from "../../projection/policy/policy.ts";
import { describe, isPlainObject, type JsonObject } from "../../thread/json.ts";
import { nearest } from "../../thread/options.ts";
import { approvalProblem, bindProblem, checkAgentTools, MAX_TTL_MS, secretsProblem } from "./checks.ts";
import type { AgentConfig, AgentDefinition, AnyAgent, InferOutput, Mode, ToolsContext } from "./config.ts";
import { AgentError } from "./errors.ts";
import type { ProviderModel } from "./language-model.ts";
import type { InputSchema } from "./schema.ts";
import type { Tools } from "./tool.ts";

type SummaryConfig = Pick<AgentConfig, "summarizer" | "models">;

type Check = (value: unknown) => string | undefined;

const text: Check = (value) => (typeof value === "string" ? undefined : "must be text");
const name: Check = (value) => (typeof value === "string" && value !== "" ? undefined : "must be a name");
const flag: Check = (value) => (typeof value === "boolean" ? undefined : "must be true or false");
const call: Check = (value) => (typeof value === "function" ? undefined : "must be a function");
const object: Check = (value) => (isPlainObject(value) ? undefined : "must be a plain object");
const amount: Check = (value) => (Number.isFinite(value) && Number(value) > 0 ? undefined : "must be a number above 0");
const number: Check = (value) => (Number.isFinite(value) ? undefined : "must be a number");
const prompt: Check = (value) =>
  typeof value === "function" ? undefined : text(value) && "must be text or a function";
const schema: Check = (value) =>
  value !== null && ["object", "function"].includes(typeof value) ? undefined : "must be a schema";

function whole(least: number, most = Number.MAX_SAFE_INTEGER): Check {
  const limit = most === Number.MAX_SAFE_INTEGER ? "" : ` to ${most}`;
  return (value) =>
    Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most
      ? undefined
      : `must be a whole number from ${least}${limit}`;
}

function oneOf(...words: readonly string[]): Check {
  return (value) =>
    typeof value === "string" && words.includes(value)
      ? undefined
      : `must be ${words.map((word) => JSON.stringify(word)).join(" or ")}`;
}

/** Checks that a value has these methods, own or inherited. */
function having(...methods: readonly string[]): Check {
  return (value) =>
    methods.every((method) => typeof Object(value)[method] === "function")
      ? undefined
      : `must have ${methods.map((method) => `${method}()`).join(" and ")}`;
}

/** The problem of a model object. Undefined: it is a model of the AI SDK. */
export const modelProblem: Check = (value) => {
  const { specificationVersion } = Object(value) as Partial<ProviderModel>;
  const isKnown = specificationVersion !== undefined && ["v2", "v3", "v4"].includes(specificationVersion);
  return isKnown ? having("doGenerate", "doStream")(value) : "must be a language model of the AI SDK (v2, v3 or v4)";
};

/** The problem of named models: which of them is none. */
function wrongModel(models: { readonly [name: string]: unknown }): string | undefined {
  const wrong = Object.keys(models).find((name) => modelProblem(models[name]) !== undefined);
  return wrong && `has no model as ${JSON.stringify(wrong)}: it ${modelProblem(models[wrong])}`;
}

/** The problem of a choice of models. */
export const modelChoiceProblem: Check = (value) => {
  if (!Array.isArray(value)) return typeof value === "string" ? name(value) : modelProblem(value);
  if (value.length === 0) return "must not be an empty list";
  return value.map((item) => (typeof item === "string" ? name(item) : modelProblem(item))).find(Boolean);
};

const model: Check = (value) => (typeof value === "function" ? undefined : modelChoiceProblem(value));

const limits: Check = (value) => {
  if (!isPlainObject(value)) return "must be { maxTokens?, maxCostUsd?, costUsd?, repeatedCalls? }";
  const { maxTokens, maxCostUsd, costUsd, repeatedCalls, ...others } = value;
  if (Object.keys(others).length > 0) return `has no field ${Object.keys(others)[0]}`;
  if (maxTokens !== undefined && whole(1)(maxTokens)) return "needs a whole number from 1 as maxTokens";
  if (repeatedCalls !== undefined && whole(2)(repeatedCalls)) return "needs a whole number from 2 as repeatedCalls";
  if (maxCostUsd !== undefined && (amount(maxCostUsd) ?? call(costUsd))) {
    return "needs a maxCostUsd above 0 and costUsd(usage, model), which returns the cost";
  }
  return undefined;
};

const REASONING = ["provider-default", "none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;
const reasoning = oneOf(...REASONING);

const names: Check = (value) =>
  Array.isArray(value) && value.every((item) => name(item) === undefined) ? undefined : "must be a list of names";

const MODE: { readonly [Field in keyof Required<Mode>]: Check } = {
  systemPrompt: text,
  tools: names,
  model: (value) => modelChoiceProblem(value),
  reasoning,
  rules: (value) => {
    if (!Array.isArray(value)) return "must be a list of rules";
    return value.map(ruleProblem).find((problem) => problem !== undefined);
  },
};

function ruleProblem(value: unknown): string | undefined {
  const { tool, verdict, pattern, reason, ...others } = isPlainObject(value) ? (value as JsonObject) : {}; // checked below
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) return `have ${JSON.stringify(unknown)}, which is not a field of a rule`;
  if (reason !== undefined && typeof reason !== "string") return "have a reason that is not text";
  const rule = {
    ...(tool !== undefined && { tool }),
    ...(verdict !== undefined && { verdict }),
    ...(pattern !== undefined && { pattern }),
  };
  const trouble = troubleInRule(rule);
  return trouble && `are wrong: ${trouble}`;
}

const modes: Check = (value) => {
  if (!isPlainObject(value)) return "must be an object of modes by name";
  for (const [key, mode] of Object.entries(value)) {
    if (!isPlainObject(mode)) return `has ${JSON.stringify(key)}, which is no object`;
    for (const [field, given] of Object.entries(mode)) {
      const check = Object.hasOwn(MODE, field) ? MODE[field as keyof Mode] : undefined;
      const problem = check === undefined ? "is not a field of a mode" : given === undefined ? undefined : check(given);
      if (problem !== undefined) return `has ${JSON.stringify(key)}, whose ${field} ${problem}`;
    }
  }
  return undefined;
};

const conditions: Check = (value) => {
  const list = [value].flat();
  const areFunctions = list.length > 0 && list.every((item) => typeof item === "function");
  return areFunctions ? undefined : "must be a function of the exchange, or a list of them";
};

const download: Check = (value) => {
  if (typeof value === "function") return undefined;
  const { maxBytes, timeoutMs, allowPrivateAddresses, ...others } = isPlainObject(value) ? value : { value };
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) return "must be a function or { maxBytes?, timeoutMs?, allowPrivateAddresses? }";
  const isFine = [maxBytes, timeoutMs].every((each) => each === undefined || whole(1)(each) === undefined);
  if (!isFine) return "needs whole numbers from 1 as maxBytes and timeoutMs";
  return allowPrivateAddresses === undefined ? undefined : flag(allowPrivateAddresses);
};

const toolChoice: Check = (value) =>
  isPlainObject(value) && typeof value["tool"] === "string"
    ? undefined
    : oneOf("auto", "none", "required")(value) && 'must be "auto", "none", "required" or { tool: name }';

const CHECKS: { readonly [Field in keyof Required<AgentConfig>]: Check } = {
  name,
  model,
  systemPrompt: prompt,
  instructions: prompt,
  tools: () => undefined,
  resolveTool: call,
  resolveModel: call,
  modes,
  contextPolicy: () => undefined,
  maxIterations: whole(1),
  stopWhen: conditions,
  hookTimeoutMs: amount,
  toolTimeoutMs: amount,
  approval: approvalProblem,
  toolMaxRetries: whole(0),
  toolRetryBackoffMs: whole(0),
  modelMaxRetries: whole(0),
  modelRetryBackoffMs: whole(0),
  modelRetryBackoffFactor: (value) =>
    Number.isFinite(value) && Number(value) >= 1 ? undefined : "must be a number from 1",
  toolConcurrency: whole(1),
  toolHeartbeatMs: amount,
  streamIdleTimeoutMs: amount,
  totalTimeoutMs: amount,
  busy: oneOf("reject", "queue"),
  steering: oneOf("one", "all"),
  followUps: oneOf("one", "all"),
  maxPending: whole(1),
  streaming: flag,
  maxOutputTokens: whole(1),
  limits,
  temperature: number,
  topP: (value) => (amount(value) || Number(value) > 1 ? "must be a number above 0, to 1" : undefined),
  stopSequences: (value) =>
    Array.isArray(value) && value.every((item) => name(item) === undefined) ? undefined : "must be a list of texts",
  seed: (value) => (Number.isSafeInteger(value) ? undefined : "must be a whole number"),
  reasoning,
  toolChoice,
  output: schema,
  outputRetries: whole(0, 3),
  providerOptions: object,
  download,
  projector: having("project", "explain"),
  readers: object,
  tokenCounter: having("count"),
  accept: call,
  prepareCall: call,
  prepareStep: call,
  repairToolCall: call,
  experimental_repairToolCall: call,
  transformRequest: call,
  guardTools: call,
  afterToolCall: call,
  onRequestEnd: call,
  redact: flag,
  captureDeltas: flag,
  tokenSecret: secretsProblem,
  tokenTtlMs: whole(1, MAX_TTL_MS),
  tokenBind: bindProblem,
  tokenMaxBytes: whole(1),
  summarizer: having("summarize"),
  onNeedsSummary: call,
  summaryWaitMs: whole(0),
  models: (value) => object(value) ?? wrongModel(Object(value)),
  recover: oneOf("resume", "fail"),
  maxAttempts: whole(1),
};

/** The problem of a value for a field of an agent. Undefined: the value is good. */
export function fieldProblem(field: keyof AgentConfig, value: unknown): string | undefined {
  return CHECKS[field](value);
}

/** The default name of an agent. */
export const UNNAMED = "agent";

const TOOL_TIMEOUT_MS = 60_000;
const A_MINUTE = 60_000;

/**
 * Checks an agent's config, fills in the defaults and freezes the result. Starts nothing.
 *
 * @example
 * const agent = defineAgent({ model: scriptedModel(["4"]), systemPrompt: "Be brief.", maxIterations: 3 });
 * agent.toolTimeoutMs; // 60000
 */
export function defineAgent<
  AgentTools extends Tools = Record<never, never>,
  const Schema extends InputSchema | undefined = undefined,
  Context = ToolsContext<AgentTools>,
>(
  config: AgentConfig<AgentTools, Context, Schema>,
): AgentDefinition<AgentTools, Context & ToolsContext<AgentTools>, InferOutput<Schema>> {
  type Defined = AgentDefinition<AgentTools, Context & ToolsContext<AgentTools>, InferOutput<Schema>>;
  return Object.freeze({ [DEFINED]: true, ...complete(config) }) as unknown as Defined; // its type parameters come from the config
}

const DEFINED = Symbol.for("heddle.agent");

/**
 * Whether a value was made by `defineAgent`, possibly by another copy of the package.
 *
 * @example
 * isAgent(defineAgent({ model: scriptedModel([]) })); // true
 */
export function isAgent(value: unknown): value is AnyAgent {
  return typeof value === "object" && value !== null && Reflect.get(value, DEFINED) === true;
}

/** Throws if a value is no agent. */
export function checkAgent(path: string, value: unknown): asserts value is AnyAgent {
  if (isAgent(value)) return;
  throw new AgentError({ code: "invalid_agent", path, message: `${path} must be made by defineAgent.` });
}

function complete(config: AgentConfig<Tools, never, InputSchema | undefined>): object {
  if (!isPlainObject(config)) throw invalid("config", `must be a plain object with a model, not ${describe(config)}`);
  const given = Object.entries(config).filter(([, value]) => value !== undefined);
  for (const [field, value] of given) {
    const check = Object.hasOwn(CHECKS, field) ? CHECKS[field as keyof AgentConfig] : undefined;
    if (check === undefined) throw invalid(field, `is not a field of an agent. ${likeOf(field)}`);
    const trouble = check(value);
    if (trouble !== undefined) throw invalid(field, trouble);
  }
  const {
    instructions,
    systemPrompt = instructions,
    tools = {},
    contextPolicy,
    toolTimeoutMs = TOOL_TIMEOUT_MS,
  } = config;
  if (config.model === undefined) throw invalid("model", model(undefined) ?? "");
  if (config.instructions !== undefined && config.systemPrompt !== undefined) {
    throw invalid("instructions", "is another name of systemPrompt; give only one of them");
  }
  const { experimental_repairToolCall: other, repairToolCall = other } = config;
  if (other !== undefined && config.repairToolCall !== undefined) {
    throw invalid("experimental_repairToolCall", "is another name of repairToolCall; give only one of them");
  }
  checkAgentTools(tools);
  checkModeTools(config, Object.keys(tools));
  const policy = contextPolicy === undefined ? undefined : checkedInput(contextPolicy);
  checkSummarizer(config, policy?.summarizationModel);
  return {
    name: UNNAMED,
    maxIterations: 100,
    hookTimeoutMs: 30_000,
    toolMaxRetries: 0,
    toolRetryBackoffMs: 200,
    modelMaxRetries: 4,
    modelRetryBackoffMs: 1000,
    modelRetryBackoffFactor: 2,
    toolConcurrency: 4,
    toolHeartbeatMs: 5000,
    streamIdleTimeoutMs: toolTimeoutMs + A_MINUTE,
    busy: "reject",
    steering: "all",
    followUps: "all",
    maxPending: 64,
    streaming: true,
    toolChoice: "auto",
    outputRetries: 1,
    redact: true,
    captureDeltas: true,
    recover: "resume",
    maxAttempts: 5,
    ...Object.fromEntries(given.filter(([field]) => field !== "instructions")),
    toolTimeoutMs,
    ...(systemPrompt !== undefined && { systemPrompt }),
    ...(repairToolCall !== undefined && { repairToolCall }),
    tools: Object.freeze({ ...tools }),
    ...(policy !== undefined && { contextPolicy: policy }),
  };
}

/** A misspelled name would show only later, as summaries that fail. */
function checkSummarizer({ summarizer, models = {} }: SummaryConfig, name: string | undefined): void {
  if (name === undefined || summarizer !== undefined || Object.hasOwn(models, name)) return;
  const meant = nearest(name, Object.keys(models));
  const advice = meant === undefined ? `Pass models: { "${name}": model }` : `Did you mean ${meant}?`;
  throw invalid("contextPolicy.summarizationModel", `names ${name}, which is not in models. ${advice}`);
}

/** A misspelled name would hide a tool. With `resolveTool`, a mode may name tools that are registered on a thread later. */
function checkModeTools(
  { modes = {}, resolveTool }: Pick<AgentConfig, "modes" | "resolveTool">,
  tools: readonly string[],
): void {
  if (resolveTool !== undefined) return;
  for (const [mode, { tools: named = [] }] of Object.entries(modes)) {
    const unknown = named.find((tool) => !tools.includes(tool));
    if (unknown === undefined) continue;
    const meant = nearest(unknown, tools);
    const advice =
      meant === undefined
        ? `It has: ${tools.join(", ") || "none"}. To name tools of a thread, give resolveTool`
        : `Did you mean ${meant}?`;
    throw invalid(`modes.${mode}.tools`, `names ${unknown}, which is not in the agent's tools. ${advice}`);
  }
}

/** Field names of other libraries, and the name of that field here. */
const OTHER_NAMES: { readonly [name: string]: keyof AgentConfig } = {
  system: "systemPrompt",
  prompt: "systemPrompt",
  policy: "contextPolicy",
  maxSteps: "maxIterations",
  maxTokens: "maxOutputTokens",
  maxRetries: "modelMaxRetries",
  initialDelayInMs: "modelRetryBackoffMs",
  backoffFactor: "modelRetryBackoffFactor",
  schema: "output",
};

function likeOf(field: string): string {
  const known = Object.keys(CHECKS);
  const start = field.toLowerCase().slice(0, 6);
  const like = Object.hasOwn(OTHER_NAMES, field)
    ? OTHER_NAMES[field]
    : (known.find((name) => name.toLowerCase().startsWith(start)) ?? nearest(field, known));
  return like === undefined ? `It has: ${known.join(", ")}` : `Did you mean ${like}?`;
}

function invalid(path: string, trouble: string): AgentError {
  return new AgentError({
    code: "invalid_agent",
    path,
    message: `${path} ${trouble}${trouble.endsWith("?") ? "" : "."}`,
  });
}
