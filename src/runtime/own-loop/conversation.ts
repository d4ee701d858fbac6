import { branch } from "../../lanes/branch.ts";
import type { Entry, EntryInput } from "../../thread/entry.ts";
import { isPlainObject, type JsonObject, type JsonValue } from "../../thread/json.ts";
import { DEFAULT_LANE } from "../../thread/lane-operations.ts";
import { resultEntryId } from "../../thread/messages/from-messages.ts";
import { pathEntries, readLanes } from "../../thread/messages/lane-path.ts";
import { Thread } from "../../thread/thread.ts";
import { recordedMessages } from "../ui-messages/recorded-messages.ts";

// The app says what the conversation is, with each prompt. The log follows: it gets what is new, and a branch where the
// conversation differs.

/** An entry of the log, or of a prompt. */
type Said = Pick<Entry, "id" | "seq" | "kind" | "payload" | "refs">;

/** A message of the user, or an answer with the results of its calls. */
interface Unit {
  readonly role: "user" | "assistant";
  /** Messages with equal keys are the same message. Of an answer, the ids of its calls. */
  readonly key: string;
  readonly calls: readonly string[];
  readonly text: string;
  readonly isPartial: boolean;
  readonly callId: string | undefined;
  readonly entries: readonly Said[];
  readonly results: ReadonlyMap<string, Said>;
}

/** The lane of the conversation, and what the log lacks of it. */
export interface ConversationPlan {
  readonly lane: string;
  readonly entries: readonly EntryInput[];
}

/**
 * The messages of a prompt as entries: one for each message and each result. System messages at the beginning are left out, and
 * so are the options of whole messages: they belong to one call.
 */
export function readPrompt(prompt: readonly object[]): readonly Said[] {
  return readNext(prompt, undefined).said;
}

/** A prompt that was read: its messages one by one, and their entries. */
export interface ReadPrompt {
  readonly messages: readonly object[];
  readonly said: readonly Said[];
}

/** Reads a prompt. When it continues the one before, as that of the next step does, only what is new is read. */
export function readNext(prompt: readonly object[], before: ReadPrompt | undefined): ReadPrompt {
  const start = prompt.findIndex((message) => !isSystem(message));
  const messages = (start < 0 ? [] : prompt.slice(start)).flatMap(oneByOne);
  const known = before?.messages ?? [];
  const fresh = messages.slice(known.length);
  // Leading system messages of a list are its prompt.
  const continues =
    !fresh.slice(0, 1).some(isSystem) && known.every((message, index) => isSameValue(message, messages[index]));
  const { said } = continues && before !== undefined ? before : { said: [] };
  const read = Thread.fromMessages(continues ? fresh : messages, { format: "model-messages" }).toArray();
  return { messages, said: [...said, ...read] };
}

function isSystem(message: object): boolean {
  return "role" in message && message.role === "system";
}

/** Whether JSON is the same. Values that are not JSON, such as bytes, are the same only as one object. */
function isSameValue(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a))
    return Array.isArray(b) && a.length === b.length && a.every((item, at) => isSameValue(item, b[at]));
  if (!isPlainObject(a) || !isPlainObject(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && isSameValue(a[key], b[key]))
  );
}

function oneByOne(given: object): readonly object[] {
  const { providerOptions: _ofCall, ...message } = given as { readonly providerOptions?: unknown }; // of any message
  if (!("role" in message) || message.role !== "tool" || !("content" in message)) return [message];
  const parts: readonly unknown[] = Array.isArray(message.content) ? message.content : [];
  return parts.flatMap((part) => (isResult(part) ? [{ ...message, content: [part] }] : []));
}

function isResult(part: unknown): boolean {
  return isPlainObject(part) && part["type"] === "tool-result";
}

/**
 * Compares a conversation with the lanes of a thread. `lane` is that of an earlier call of this loop: then what follows the
 * last answer is new, whatever the app has cut from the beginning.
 */
export function planConversation(
  thread: Thread,
  said: readonly Said[],
  { lane, newLane }: { readonly lane: string | undefined; readonly newLane: () => string },
): ConversationPlan {
  const given = unitsOf(said);
  const lanes = readLanes(thread.toArray());
  const unitsIn = (name: string): readonly Unit[] => unitsOf(pathEntries(lanes, name));
  const answer = lane === undefined ? undefined : unitsIn(lane).at(-1);
  const at = answer?.key ? given.findLastIndex(({ key, role }) => role === "assistant" && key === answer.key) : -1;
  if (lane !== undefined && answer !== undefined && at >= 0) {
    return { lane, entries: [...lateResults(lane, answer, given[at]), ...entriesOf(lane, given.slice(at + 1))] };
  }
  const names = new Set([lanes.active, ...lanes.own.keys()]);
  const [best] = [...names]
    .map((name) => ({ name, units: unitsIn(name), lastSeq: lanes.own.get(name)?.at(-1)?.seq ?? -1 }))
    .map((one) => ({ ...one, ...likeness(one.units, given) }))
    .sort(
      (a, b) =>
        b.givenCount - a.givenCount ||
        b.equal - a.equal ||
        Number(b.name === lanes.active) - Number(a.name === lanes.active) ||
        b.lastSeq - a.lastSeq,
    );
  const { name = DEFAULT_LANE, units = [], count = 0, givenCount = 0 } = best ?? {};
  const switched = name === lanes.active ? [] : [switchTo(name, newLane())];
  const next = units[count];
  if (next === undefined) {
    const last = units.at(-1);
    const late = last === undefined ? [] : lateResults(name, last, given[givenCount - 1]);
    return { lane: name, entries: [...switched, ...late, ...entriesOf(name, given.slice(givenCount))] };
  }
  if (givenCount === given.length && isUnfinished(pathEntries(lanes, name), units, count))
    return { lane: name, entries: switched };
  const before = next.entries[0]?.id ?? "";
  const branched = newLane();
  const operation = { kind: "ai_context_operation", payload: branch(thread, { before, lane: branched }) } as const;
  return { lane: branched, entries: [operation, ...entriesOf(branched, given.slice(givenCount))] };
}

/** How far a lane and a prompt are the same: the messages of each, and how many of them have the same text. */
interface Likeness {
  readonly count: number;
  readonly givenCount: number;
  readonly equal: number;
}

/**
 * Compares from the beginning. A page may lack answers of the log. The SDK leaves out calls that a later message of the user
 * has overtaken, and a page that was closed lacks the rest.
 */
function likeness(log: readonly Unit[], given: readonly Unit[]): Likeness {
  let like = { count: 0, givenCount: 0, equal: 0 };
  let hasAnswer = false; // whether the page has any part of this answer
  for (const [index, unit] of log.entries()) {
    const next = given[like.givenCount];
    if (next === undefined) return like;
    const isSame = isSameUnit(unit, next);
    if (!isSame && !isLacking(log, index, next, hasAnswer)) return like;
    hasAnswer = unit.role === "assistant" && (hasAnswer || isSame);
    const { count, givenCount, equal } = like;
    like = {
      count: count + 1,
      givenCount: givenCount + Number(isSame),
      equal: equal + Number(isSame && unit.text === next.text),
    };
  }
  return like;
}

function isSameUnit(unit: Unit, given: Unit): boolean {
  if (unit.role !== given.role) return false;
  return unit.key === given.key || (resolvedKey(unit) === given.key && unit.text === given.text);
}

/** Whether a page may lack this answer of the log, with `next` as its next message. */
function isLacking(log: readonly Unit[], index: number, next: Unit, hasAnswer: boolean): boolean {
  const unit = log[index];
  if (unit?.role !== "assistant") return false;
  if (next.role === "user") return hasAnswer || (unit.key !== "" && resolvedKey(unit) === "");
  const end = log.findIndex(({ role }, at) => at > index && role === "user");
  return log.slice(index + 1, end < 0 ? log.length : end).some((later) => isSameUnit(later, next));
}

/** The key of an answer without its calls that have no result. */
function resolvedKey({ calls, results }: Unit): string {
  return keyOf(calls.filter((id) => results.has(id)));
}

function keyOf(calls: readonly string[]): string {
  return calls.length === 0 ? "" : JSON.stringify(calls);
}

/** Whether the process ended within the answer that follows: it has calls, nothing behind them, and was never saved. */
function isUnfinished(path: readonly Entry[], units: readonly Unit[], from: number): boolean {
  const last = units.at(-1);
  if (last === undefined || last.key === "" || last.isPartial) return false;
  if (units.slice(from).some(({ role }) => role === "user")) return false;
  const seq = last.entries[0]?.seq ?? -1;
  return !recordedMessages(path).some(({ fromSeq, toSeq }) => fromSeq <= seq && seq <= toSeq);
}

/** The results that the log lacks. */
function lateResults(lane: string, answer: Unit, given: Unit | undefined): readonly EntryInput[] {
  return [...(given?.results ?? [])].flatMap(([id, { payload, refs }]) => {
    if (answer.results.has(id) || !answer.calls.includes(id)) return [];
    const { callId } = answer;
    const entry = { kind: "ai_message", payload: { ...payload, contextRef: lane }, refs };
    return callId === undefined ? [entry] : [{ ...entry, id: resultEntryId(callId, id), refs: { ...refs, callId } }];
  });
}

function entriesOf(lane: string, units: readonly Unit[]): readonly EntryInput[] {
  return units
    .flatMap(({ entries, results }) => [...entries, ...results.values()])
    .map(({ kind, payload, refs }) => ({ kind, payload: { ...payload, contextRef: lane }, refs }) as EntryInput); // as they were read
}

function switchTo(lane: string, opId: string): EntryInput {
  return {
    kind: "ai_context_operation",
    payload: { opId, contextRef: lane, operation: { type: "switch", reason: "manual" } },
  };
}

/** A call in the log, and its result. */
export interface LoggedCall {
  readonly lane: string;
  readonly callId: string | undefined;
  readonly result: Entry | undefined;
}

/** The newest call with this id, first on the active lane. */
export function findCall(thread: Thread, toolCallId: string): LoggedCall | undefined {
  const lanes = readLanes(thread.toArray());
  for (const lane of new Set([lanes.active, ...[...lanes.own.keys()].reverse()])) {
    const unit = unitsOf(pathEntries(lanes, lane)).findLast(({ calls }) => calls.includes(toolCallId));
    if (unit === undefined) continue;
    const seq = unit.results.get(toolCallId)?.seq;
    return { lane, callId: unit.callId, result: seq === undefined ? undefined : thread.at(seq) };
  }
  return undefined;
}

/** The seq of the last message of a lane, with what it shares with others. -1 when it has none. */
export function lastSeqOf(thread: Thread, lane: string): number {
  return pathEntries(readLanes(thread.toArray()), lane).findLast((entry) => messageIn(entry) !== undefined)?.seq ?? -1;
}

/** Answers without text and calls are left out: apps do not keep them. */
function unitsOf(entries: readonly Said[]): readonly Unit[] {
  const units: (Unit & { entries: Said[]; results: Map<string, Said> })[] = [];
  for (const entry of entries) {
    const message = messageIn(entry);
    if (message === undefined) continue;
    const { role, calls, toolCallId, isPartial } = message;
    if (role === "tool") {
      const owner = units.findLast((unit) => unit.calls.includes(toolCallId)) ?? units.at(-1);
      if (owner !== undefined && !owner.results.has(toolCallId)) owner.results.set(toolCallId, entry);
      continue;
    }
    const text = textIn(entry.payload);
    if (role === "assistant" && calls.length === 0 && text.trim() === "") continue;
    const callId = typeof entry.refs["callId"] === "string" ? entry.refs["callId"] : undefined;
    const key = role === "user" ? JSON.stringify([text, filesIn(entry.payload)]) : keyOf(calls);
    units.push({ role, key, calls, text, isPartial, callId, entries: [entry], results: new Map() });
  }
  return units;
}

interface SaidMessage {
  readonly role: "user" | "assistant" | "tool";
  readonly calls: readonly string[];
  readonly toolCallId: string;
  readonly isPartial: boolean;
}

/** The message of an entry. System messages behind the first ones count as the user's. */
function messageIn({ kind, payload, refs }: Said): SaidMessage | undefined {
  const { role, toolCalls = [], toolCallId = refs["toolCallId"] ?? "", partial }: JsonObject = payload;
  const facts = { calls: [], toolCallId: String(toolCallId), isPartial: partial === true };
  if (kind === "tool_result") return { ...facts, role: "tool" };
  if (kind === "tool_call") return { ...facts, role: "assistant", calls: [String(payload["id"])] };
  if (kind !== "message" && kind !== "ai_message") return undefined;
  if (role === "tool") return { ...facts, role };
  if (role !== "assistant") return { ...facts, role: "user" };
  const calls = Array.isArray(toolCalls) ? toolCalls.map((call: JsonValue) => String((call as JsonObject)["id"])) : []; // calls are objects
  return { ...facts, role, calls };
}

function partsIn({ content = "" }: JsonObject): readonly JsonObject[] {
  return Array.isArray(content) ? content : [{ type: "text", text: content }];
}

function textIn(payload: JsonObject): string {
  return partsIn(payload)
    .flatMap(({ type, text }) => (type === "text" && typeof text === "string" ? [text] : []))
    .join("");
}

/** The files of a message. One that the SDK has downloaded for one model is a URL for another. */
function filesIn(payload: JsonObject): readonly JsonValue[] {
  return partsIn(payload).flatMap(({ type, mediaType = null }) => (type === "file" ? [mediaType] : []));
}
