import type { LaneItem, LaneLog } from "../../lanes/lane-log.ts";
import { measureOfJson } from "../../lanes/measure.ts";
import { draftEntry, type Entry, type EntryInput, makeEntry } from "../../thread/entry.ts";
import { describe, isPlainObject, type JsonObject } from "../../thread/json.ts";
import { namedLane } from "../../thread/lane-operations.ts";
import type { Message, ToolSpec } from "../../thread/message.ts";
import { knownNames } from "../../thread/nearest-name.ts";
import type { Ports } from "../../thread/ports.ts";
import { Thread } from "../../thread/thread.ts";
import type { TokenCounter } from "../../tokens/counter.ts";
import { ProjectionError } from "../error.ts";
import type { ContextPolicyInput } from "../policy/fields.ts";
import type { Projection } from "../projection.ts";
import { isProjectorName, PROJECTORS, type ProjectorName } from "../rules.ts";
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
  const fields = Object.entries(given);
  for (const [field, value] of fields) {
    if (value === undefined || known.includes(field)) continue;
    const message = `${what} has no field ${field}. ${knownNames(field, known)}`;
    throw new ProjectionError({ code: "invalid_input", message });
  }
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined)) as T; // only undefined fields are removed
}

/** Checks the fields that are used late or often. Other fields are checked where they are used. */
export function checkInput({ thread, lane, model, readers, tokenCounter, rules, previous }: ProjectionInput): void {
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
    position += measureOfJson(entry.payload);
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
