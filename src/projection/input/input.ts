import type { LaneItem, LaneLog } from "../../lanes/lane-log.ts";
import { measureOfEntry } from "../../lanes/measure.ts";
import { draftEntry, type Entry, type EntryInput, makeEntry } from "../../thread/entry.ts";
import { copyJsonObject, describe, isPlainObject, type JsonObject, readSafely, sameJson } from "../../thread/json.ts";
import { namedLane } from "../../thread/lane-operations.ts";
import type { Message, ToolSpec } from "../../thread/message.ts";
import { knownNames } from "../../thread/options.ts";
import type { Ports } from "../../thread/ports.ts";
import { Thread } from "../../thread/thread.ts";
import {
  type CounterFacts,
  countMessage,
  countReadable,
  countTools,
  factsOf,
  heuristic,
  type TokenCounter,
} from "../../tokens/counter.ts";
import { ProjectionError } from "../error.ts";
import type { ContextPolicyInput } from "../policy/fields.ts";
import { ContextPolicy } from "../policy/policy.ts";
import type { Projection } from "../projection.ts";
import { isProjectorName, PROJECTOR, PROJECTORS, type ProjectorName, rulesOf } from "../rules.ts";
import type { Readers } from "../transcript/entry-reader.ts";

/** Content that is not in the thread yet: user text, a message, or an entry that will be appended. */
export type PendingItem = string | Message | EntryInput;

/** Everything that can change a projection. */
export interface ProjectionInput {
  /** The whole thread, or a thread of which only the last entries are loaded. */
  readonly thread: Thread;
  /** The rules for what is shown. Default `ContextPolicy.create()`. */
  readonly policy?: ContextPolicyInput | undefined;
  /** A user message or tool results that are not committed yet. Refused if nothing of an item would be shown. Default none. */
  readonly pending?: PendingItem | readonly PendingItem[] | undefined;
  /** Overrides the system prompt of the policy, its default. The prompt of a replaced context overrides both. */
  readonly system?: string | { readonly prompt?: string | undefined } | undefined;
  /** The tools that the model may call. Default none. */
  readonly tools?: readonly ToolSpec[] | undefined;
  /** The lane to project. Default the active lane of the thread. */
  readonly lane?: string | undefined;
  /** The model to call, as `provider:model` or `provider/model`. Only the model that wrote thinking can read it. Default none. */
  readonly model?: string | undefined;
  /** Readers of your own kinds. Name the kinds in `policy.includeKinds` too. Default none. */
  readonly readers?: Readers | undefined;
  /** Counts the tokens of messages and tools. Default `heuristic`. */
  readonly tokenCounter?: TokenCounter | undefined;
  /** The projection rules. Default `PROJECTOR`, the newest. An older name rebuilds calls that recorded it. */
  readonly rules?: ProjectorName | undefined;
  /** The previous projection. With it, `meta.stablePrefix` counts the unchanged messages. Default none. */
  readonly previous?: Pick<Projection, "messages"> | undefined;
}

const INPUT_FIELD_NAMES: { readonly [Field in keyof Required<ProjectionInput>]: true } = {
  thread: true,
  policy: true,
  pending: true,
  system: true,
  tools: true,
  lane: true,
  model: true,
  readers: true,
  tokenCounter: true,
  rules: true,
  previous: true,
};

/** Returns the defined fields. Throws for unknown ones, so that a typo is not silently ignored. */
export function definedFields<T extends object>(given: T, what: string, others: readonly string[] = []): T {
  return knownFields(given, what, [...INPUT_FIELDS, ...others]);
}

const INPUT_FIELDS = Object.keys(INPUT_FIELD_NAMES);

/** Like `definedFields`, with a custom list of known fields. */
export function knownFields<T extends object>(given: T, what: string, known: readonly string[]): T {
  if (!isPlainObject(given)) {
    const message = `${what} must be a plain object, not ${describe(given)}.`;
    throw new ProjectionError({ code: "invalid_input", message });
  }
  const defined: Partial<T> = {};
  for (const field of Object.keys(given) as (keyof T & string)[]) {
    const value = given[field];
    if (value === undefined) continue;
    if (known.includes(field)) defined[field] = value;
    else {
      const message = `${what} has no field ${field}. ${knownNames(field, known)}`;
      throw new ProjectionError({ code: "invalid_input", message });
    }
  }
  return defined as T; // only undefined fields are removed
}

/** Checks the fields that are used late or often. Other fields are checked where they are used. */
function checkInput({ thread, lane, model, readers, tokenCounter, rules, previous }: ProjectionInput): void {
  if (!Thread.isThread(thread)) throw invalid("thread", "must be a Thread", thread);
  checkName("lane", lane);
  checkName("model", model);
  if (readers !== undefined) checkReaders(readers);
  if (tokenCounter !== undefined && !isCounter(tokenCounter)) {
    throw invalid("tokenCounter", "must be an object with count(text, model)", tokenCounter);
  }
  if (rules !== undefined && !isProjectorName(rules)) {
    throw invalid("rules", `must be one of ${PROJECTORS.join(", ")}`, rules);
  }
  if (previous !== undefined && !Array.isArray(Object(previous).messages)) {
    throw invalid("previous", "must be a projection", previous);
  }
}

export function checkReaders(readers: Readers): void {
  if (!isPlainObject(readers)) throw invalid("readers", "must be an object of readers by kind", readers);
  for (const [kind, reader] of Object.entries(readers)) {
    const { version, read, upcast } = Object(reader);
    const isReader = Number.isSafeInteger(version) && version >= 1 && typeof read === "function";
    if (isReader && (upcast === undefined || typeof upcast === "function")) continue;
    throw invalid(`readers.${kind}`, "must be { version, upcast?, read }, version a whole number of at least 1");
  }
}

function isCounter(counter: TokenCounter): boolean {
  return typeof counter === "object" && counter !== null && typeof counter.count === "function";
}

export function checkName(path: string, value: unknown): void {
  if (value === undefined || (typeof value === "string" && value !== "")) return;
  throw invalid(path, "must be a non-empty string", value);
}

/** An error that names the field and the type of its value, never the value. */
export function invalid(path: string, trouble: string, value?: unknown): ProjectionError {
  const given = value === undefined ? "" : `, not ${value === "" ? "an empty text" : describe(value)}`;
  return new ProjectionError({ code: "invalid_input", message: `The input's ${path} ${trouble}${given}.` });
}

/** A pending entry is not stored, so it gets a fixed time and id. */
const PORTS: Ports = { clock: () => 0, ids: () => "pending" };

/** Converts pending items to checked copies of the entries that they will become. */
export function pendingEntries(
  pending: PendingItem | readonly PendingItem[] | undefined,
  rev: number,
  lane: string,
): readonly Entry[] {
  if (pending === undefined) return [];
  const list: readonly PendingItem[] = isList(pending) ? pending : [pending];
  return list.map((item, index) => {
    const path = `pending[${index}]`;
    return makeEntry(draftEntry(inputOf(item, path, lane), path, PORTS), rev + index);
  });
}

/** Positions the pending entries after the end of their lane. */
export function pendingItems(entries: readonly Entry[], log: LaneLog): readonly LaneItem[] {
  let position = log.measure;
  return entries.map((entry, index) => {
    const lane = namedLane(entry) ?? log.lane;
    if (lane !== log.lane)
      throw invalid(`pending[${index}]`, `belongs to lane "${lane}", and lane "${log.lane}" is projected`);
    if (entry.kind === "summary" || entry.kind === "ai_context_operation") {
      throw invalid(`pending[${index}]`, `is a ${entry.kind}; only messages and results can be pending`);
    }
    const item = { entry, open: entry.seq, position };
    position += measureOfEntry(entry);
    return item;
  });
}

function inputOf(item: PendingItem, path: string, lane: string): EntryInput {
  if (typeof item === "string") return { kind: "message", payload: { role: "user", content: item } };
  if (!isPlainObject(item)) throw invalid(path, "must be text, a message or an entry", item);
  return isMessage(item) ? messageInput(item, lane) : (item as EntryInput); // `draftEntry` checks every field
}

function isMessage(item: object): item is Message {
  return "role" in item && !("kind" in item) && !("payload" in item);
}

/** Makes the entry that an agent would write. Messages with calls and tool results have the kind `ai_message`. */
function messageInput(message: Message, contextRef: string): EntryInput {
  const isPlain = message.role !== "tool" && !("toolCalls" in message);
  const payload = isPlain ? { ...message } : { contextRef, ...message };
  return { kind: isPlain ? "message" : "ai_message", payload: payload as unknown as JsonObject }; // draftEntry checks it
}

function isList(pending: PendingItem | readonly PendingItem[]): pending is readonly PendingItem[] {
  return Array.isArray(pending);
}

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
  const { name, description, inputSchema, provider } = Object(tool);
  return { name, ...(description !== undefined && { description }), inputSchema, ...(provider && { provider }) };
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
  const { name, description, inputSchema, provider } = readSafely<{ readonly [Field in keyof ToolSpec]: unknown }>(
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
  const spec = { name, ...(description !== undefined && { description }), inputSchema: schema };
  if (provider === undefined) return Object.freeze(spec);
  const { id, args } = Object(provider);
  if (typeof id !== "string") throw invalid(`${path}.provider.id`, "must be text", id);
  return Object.freeze({
    ...spec,
    provider: Object.freeze({ id, args: copyJsonObject(args, `${path}.provider.args`) }),
  });
}
