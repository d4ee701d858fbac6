import { copyJsonObject, fieldsOf, isPlainObject, type JsonObject, sameJson } from "../../thread/json.ts";
import type { ToolSpec } from "../../thread/message.ts";
import { countTools } from "../../tokens/count.ts";
import type { TokenCounter } from "../../tokens/counter.ts";
import { heuristic } from "../../tokens/heuristic.ts";
import type { ContextPolicy, ContextPolicyInput } from "../policy/fields.ts";
import { hashOf } from "../policy/hash.ts";
import { ContextPolicy as Policies } from "../policy/policy.ts";
import type { Readers } from "../transcript/reader.ts";
import { checkInput, invalid } from "./check.ts";
import type { ProjectionInput } from "./input.ts";

/** What of an input is not the thread nor pending: checked, complete, and equal by value when the input was. */
export interface Settings {
  readonly policy: ContextPolicy;
  readonly policyHash: string;
  /** What the caller said of the policy, as it was then: callers change their objects. */
  readonly policyInput: JsonObject | undefined;
  readonly systemPrompt: string | undefined;
  readonly tools: readonly ToolSpec[];
  readonly toolsText: string;
  readonly toolTokens: number;
  readonly lane: string | undefined;
  readonly model: string | undefined;
  readonly readers: Readers | undefined;
  readonly counter: TokenCounter;
}

/** `before` is what an earlier input came to: what equals it is not worked out again. */
export function settingsOf(input: ProjectionInput, before?: Settings): Settings {
  checkInput(input);
  const { lane, model, tokenCounter: counter = heuristic } = input;
  const system = systemOf(input.system);
  const { policy, policyHash, policyInput } = policyOf(input.policy, before);
  return {
    policy,
    policyHash,
    policyInput,
    systemPrompt: system ?? policy.systemPrompt,
    ...toolsOf(input.tools, counter, model, before),
    lane,
    model,
    readers: readersOf(input.readers, before?.readers),
    counter,
  };
}

/** Whether two settings give the same blocks, whatever is made of them. */
export function sameReading(a: Settings, b: Settings): boolean {
  return a.policyHash === b.policyHash && a.model === b.model && a.readers === b.readers && a.counter === b.counter;
}

/** Whether two settings give the same projection of the same thread. */
export function sameSettings(a: Settings, b: Settings): boolean {
  return sameReading(a, b) && a.systemPrompt === b.systemPrompt && a.toolsText === b.toolsText && a.lane === b.lane;
}

/** A copy, which callers cannot change; the one of before when it holds the same readers. */
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

/** Callers build their list of tools afresh or change it in place, so it is compared by its text. */
function toolsOf(
  given: readonly ToolSpec[] | undefined,
  counter: TokenCounter,
  model: string | undefined,
  before: Settings | undefined,
): Tools {
  if (given === undefined || given.length === 0) return NO_TOOLS;
  if (!Array.isArray(given)) throw invalid("tools", "must be a list of { name, description?, inputSchema }", given);
  const text = JSON.stringify(given.map(plainTool));
  if (before?.toolsText === text && before.counter === counter && before.model === model) {
    return { tools: before.tools, toolsText: text, toolTokens: before.toolTokens };
  }
  const tools = Object.freeze(given.map((tool, index) => checkedTool(plainTool(tool), `tools[${index}]`)));
  return { tools, toolsText: text, toolTokens: countTools(tools, counter, model) };
}

/** The fields in one order, and nothing of what an agent keeps beside them. */
function plainTool(tool: ToolSpec): ToolSpec {
  const { name, description, inputSchema } = Object(tool);
  return { name, ...(description !== undefined && { description }), inputSchema };
}

function checkedTool(tool: ToolSpec, path: string): ToolSpec {
  const { name, description, inputSchema } = fieldsOf(tool, path, "invalid_input");
  if (typeof name !== "string" || name === "") throw invalid(`${path}.name`, "must be text", name);
  if (description !== undefined && typeof description !== "string")
    throw invalid(`${path}.description`, "must be text", description);
  if (inputSchema === undefined) throw invalid(`${path}.inputSchema`, "is missing");
  const schema: JsonObject = copyJsonObject(inputSchema, `${path}.inputSchema`);
  return Object.freeze({ name, ...(description !== undefined && { description }), inputSchema: schema });
}
