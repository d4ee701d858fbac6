import { copyJsonObject, isPlainObject, type JsonObject, readSafely, sameJson } from "../../thread/json.ts";
import type { Message, ToolSpec } from "../../thread/message.ts";
import { countMessage, countReadable, countTools } from "../../tokens/count.ts";
import { type CounterFacts, factsOf, heuristic, type TokenCounter } from "../../tokens/counter.ts";
import type { ContextPolicyInput } from "../policy/fields.ts";
import { ContextPolicy } from "../policy/policy.ts";
import { PROJECTOR, type ProjectorName, rulesOf } from "../rules.ts";
import type { Readers } from "../transcript/entry-reader.ts";
import { checkInput, invalid, type ProjectionInput } from "./input.ts";

/**
 * The projection input without thread and pending items, checked and with defaults. Equal inputs give equal settings.
 */
export interface Settings {
  readonly policy: ContextPolicy;
  readonly policyHash: string;
  /** A copy of the policy input, because callers may change their objects later. */
  readonly policyInput: JsonObject | undefined;
  readonly systemPrompt: string | undefined;
  readonly tools: readonly ToolSpec[];
  readonly toolsText: string;
  readonly toolTokens: number;
  readonly lane: string | undefined;
  readonly rules: ProjectorName;
  readonly model: string | undefined;
  readonly readers: Readers | undefined;
  readonly counter: TokenCounter;
  /** A copy of the counter's description, because the caller may change the counter. */
  readonly counterFacts: CounterFacts;
  /** The tokens of a message, by the counter and the rules of the projector. */
  readonly tokensOf: (message: Message) => number;
}

/** Checks the input and adds defaults. Parts that equal the settings `before` are reused. */
export function settingsOf(input: ProjectionInput, before?: Settings): Settings {
  checkInput(input);
  const { lane, model, rules = PROJECTOR, tokenCounter: counter = heuristic } = input;
  const counterFacts = factsOf(counter);
  const count = rulesOf(rules).countsReasoningData ? countMessage : countReadable;
  const system = systemOf(input.system);
  const { policy, policyHash, policyInput } = policyOf(input.policy, before);
  return {
    policy,
    policyHash,
    policyInput,
    systemPrompt: system ?? policy.systemPrompt,
    ...toolsOf(input.tools, { counter, counterFacts, model }, before),
    lane,
    rules,
    model,
    readers: readersOf(input.readers, before?.readers),
    counter,
    counterFacts,
    tokensOf: (message) => count(message, counter, model),
  };
}

/** Whether two settings lead to the same blocks. */
export function haveSameBlocks(a: Settings, b: Settings): boolean {
  return a.policyHash === b.policyHash && a.rules === b.rules && a.readers === b.readers && haveSameCounts(a, b);
}

/** Whether the counter was recalibrated. The settings with the old counter are then not needed anymore. */
export function isRecalibrated({ counter: before }: Settings, { counter }: Settings): boolean {
  return before !== counter && "base" in before && "base" in counter && before.base === counter.base;
}

type CounterSettings = Pick<Settings, "counter" | "counterFacts" | "model">;

/** Whether two settings lead to the same token counts. The caller may have changed a counter object. */
function haveSameCounts(a: CounterSettings, b: CounterSettings): boolean {
  return a.counter === b.counter && a.model === b.model && sameJson({ ...a.counterFacts }, { ...b.counterFacts });
}

/** Whether two settings lead to the same projection of the same thread. */
export function haveSameProjection(a: Settings, b: Settings): boolean {
  return haveSameBlocks(a, b) && a.systemPrompt === b.systemPrompt && a.toolsText === b.toolsText && a.lane === b.lane;
}

/** A copy that callers cannot change. Reuses the earlier copy when the readers are the same. */
function readersOf(given: Readers | undefined, before: Readers | undefined): Readers | undefined {
  if (given === undefined) return undefined;
  const kinds = Object.keys(given);
  const isSame =
    before !== undefined &&
    kinds.length === Object.keys(before).length &&
    kinds.every((kind) => Object.hasOwn(before, kind) && before[kind] === given[kind]);
  return isSame ? before : { ...given };
}

function systemOf(given: ProjectionInput["system"]): string | undefined {
  if (given === undefined || typeof given === "string") return given;
  const { prompt } = isPlainObject(given) ? given : { prompt: given };
  if (prompt === undefined || typeof prompt === "string") return prompt;
  throw invalid("system", "must be text or { prompt }", prompt);
}

type PolicySettings = Pick<Settings, "policy" | "policyHash" | "policyInput">;

function policyOf(given: ContextPolicyInput | undefined, before: Settings | undefined): PolicySettings {
  if (given === undefined) return DEFAULT_POLICY_SETTINGS;
  if (before?.policy === given) return before;
  if (before?.policyInput !== undefined && sameJson(before.policyInput, given as JsonObject)) return before;
  const policy = ContextPolicy.create(given);
  return { policy, policyHash: ContextPolicy.hashOf(policy), policyInput: copyJsonObject(given, "policy") };
}

const DEFAULT_POLICY_SETTINGS: PolicySettings = {
  policy: ContextPolicy.create(),
  policyHash: ContextPolicy.hashOf(ContextPolicy.create()),
  policyInput: undefined,
};

type ToolSettings = Pick<Settings, "tools" | "toolsText" | "toolTokens">;

const NO_TOOLS: ToolSettings = { tools: Object.freeze([]), toolsText: "[]", toolTokens: 0 };

/**
 * Returns copies of the tools. Compares their text with the earlier copies, because callers make new lists or change
 * them.
 */
function toolsOf(
  given: readonly ToolSpec[] | undefined,
  counting: CounterSettings,
  before: Settings | undefined,
): ToolSettings {
  if (given === undefined || given.length === 0) return NO_TOOLS;
  if (!Array.isArray(given)) throw invalid("tools", "must be a list of { name, description?, inputSchema }", given);
  if (before !== undefined && before.toolsText === textOf(given) && haveSameCounts(before, counting)) {
    const { tools, toolsText, toolTokens } = before;
    return { tools, toolsText, toolTokens };
  }
  const tools = Object.freeze(given.map((tool, index) => checkedTool(tool, `tools[${index}]`)));
  checkNames(tools);
  return { tools, toolsText: JSON.stringify(tools), toolTokens: countTools(tools, counting.counter, counting.model) };
}

/** Returns the tools as JSON text. Undefined if they are not JSON; `checkedTool` then reports the error. */
function textOf(given: readonly ToolSpec[]): string | undefined {
  try {
    return JSON.stringify(given.map(plainTool));
  } catch {
    return undefined;
  }
}

/** Copies the fields of a tool in a fixed order, without the other fields that agents add. */
function plainTool(tool: ToolSpec): ToolSpec {
  const { name, description, inputSchema } = Object(tool);
  return { name, ...(description !== undefined && { description }), inputSchema };
}

/** Tool names that every provider accepts. Names in the history are rewritten to fit. */
const NAME = /^[A-Za-z0-9_-]{1,64}$/;

function checkNames(tools: readonly ToolSpec[]): void {
  const first = new Map<string, number>();
  for (const [index, { name }] of tools.entries()) {
    const before = first.get(name);
    if (before !== undefined) throw invalid(`tools[${index}].name`, `repeats the name of tools[${before}]`);
    first.set(name, index);
  }
}

function checkedTool(tool: ToolSpec, path: string): ToolSpec {
  const { name, description, inputSchema } = readSafely<{ readonly [Field in keyof ToolSpec]: unknown }>(
    path,
    "invalid_input",
    () => plainTool(tool),
  );
  if (typeof name !== "string") throw invalid(`${path}.name`, "must be text", name);
  if (!NAME.test(name)) throw invalid(`${path}.name`, "must be 1 to 64 characters of A-Z, a-z, 0-9, _ and -");
  if (description !== undefined && typeof description !== "string")
    throw invalid(`${path}.description`, "must be text", description);
  if (inputSchema === undefined)
    throw invalid(`${path}.inputSchema`, "is missing; pass the JSON schema of the parameters");
  const schema: JsonObject = copyJsonObject(inputSchema, `${path}.inputSchema`);
  return Object.freeze({ name, ...(description !== undefined && { description }), inputSchema: schema });
}
