import { copyJsonObject, isPlainObject, type JsonObject, reading, sameJson } from "../../thread/json.ts";
import type { Message, ToolSpec } from "../../thread/message.ts";
import { countMessage, countReadable, countTools } from "../../tokens/count.ts";
import { type CounterFacts, factsOf, type TokenCounter } from "../../tokens/counter.ts";
import { heuristic } from "../../tokens/heuristic.ts";
import type { ContextPolicy, ContextPolicyInput } from "../policy/fields.ts";
import { hashOf } from "../policy/hash.ts";
import { ContextPolicy as Policies } from "../policy/policy.ts";
import { PROJECTOR, type ProjectorName, rulesOf } from "../rules.ts";
import type { Readers } from "../transcript/reader.ts";
import { checkInput, invalid } from "./check.ts";
import type { ProjectionInput } from "./input.ts";

/** The input without thread and pending, checked and with defaults. Equal inputs give equal settings. */
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
  /** A copy of the counter's own description, because a counter may change. */
  readonly counterFacts: CounterFacts;
  /** The tokens of a message, by the counter and the rules of the projector. */
  readonly tokensOf: (message: Message) => number;
}

/** `before` holds earlier settings. Parts that are equal are reused. */
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

/** Whether two settings give the same blocks. */
export function sameReading(a: Settings, b: Settings): boolean {
  return a.policyHash === b.policyHash && a.rules === b.rules && a.readers === b.readers && sameCounting(a, b);
}

/** Whether the counter was recalibrated since. The settings with the old counter are then unused. */
export function isRecalibrated({ counter: before }: Settings, { counter }: Settings): boolean {
  return before !== counter && "base" in before && "base" in counter && before.base === counter.base;
}

type Counting = Pick<Settings, "counter" | "counterFacts" | "model">;

/** Whether two settings give the same counts. A counter may have been changed in place. */
function sameCounting(a: Counting, b: Counting): boolean {
  return a.counter === b.counter && a.model === b.model && sameJson({ ...a.counterFacts }, { ...b.counterFacts });
}

/** Whether two settings give the same projection of the same thread. */
export function sameSettings(a: Settings, b: Settings): boolean {
  return sameReading(a, b) && a.systemPrompt === b.systemPrompt && a.toolsText === b.toolsText && a.lane === b.lane;
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

type OfPolicy = Pick<Settings, "policy" | "policyHash" | "policyInput">;

function policyOf(given: ContextPolicyInput | undefined, before: Settings | undefined): OfPolicy {
  if (given === undefined) return DEFAULTS;
  if (before?.policy === given) return before;
  if (before?.policyInput !== undefined && sameJson(before.policyInput, given as JsonObject)) return before;
  const policy = Policies.create(given);
  return { policy, policyHash: hashOf(policy), policyInput: copyJsonObject(given, "policy") };
}

const DEFAULTS: OfPolicy = {
  policy: Policies.create(),
  policyHash: hashOf(Policies.create()),
  policyInput: undefined,
};

type Tools = Pick<Settings, "tools" | "toolsText" | "toolTokens">;

const NO_TOOLS: Tools = { tools: Object.freeze([]), toolsText: "[]", toolTokens: 0 };

/** Compared by text, because callers rebuild their list of tools or change it in place. */
function toolsOf(given: readonly ToolSpec[] | undefined, counting: Counting, before: Settings | undefined): Tools {
  if (given === undefined || given.length === 0) return NO_TOOLS;
  if (!Array.isArray(given)) throw invalid("tools", "must be a list of { name, description?, inputSchema }", given);
  if (before !== undefined && before.toolsText === textOf(given) && sameCounting(before, counting)) {
    const { tools, toolsText, toolTokens } = before;
    return { tools, toolsText, toolTokens };
  }
  const tools = Object.freeze(given.map((tool, index) => checkedTool(tool, `tools[${index}]`)));
  checkNames(tools);
  return { tools, toolsText: JSON.stringify(tools), toolTokens: countTools(tools, counting.counter, counting.model) };
}

/** Undefined when the tools are not JSON. `checkedTool` then reports the error. */
function textOf(given: readonly ToolSpec[]): string | undefined {
  try {
    return JSON.stringify(given.map(plainTool));
  } catch {
    return undefined;
  }
}

/** The fields in a fixed order, without other fields that an agent keeps on its tools. */
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
  const { name, description, inputSchema } = reading<{ readonly [Field in keyof ToolSpec]: unknown }>(
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
