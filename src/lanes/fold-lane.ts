import type { Entry } from "../thread/entry.ts";
import { ThreadError } from "../thread/errors.ts";
import { fieldsOf, freezeJson, isPlainObject, type JsonObject, type JsonValue, sameJson } from "../thread/json.ts";
import { type Branch, LANE_RULES, LaneReader, type LaneRules, readBranch } from "../thread/lane-operations.ts";
import { resultText } from "../thread/message.ts";
import type { Thread } from "../thread/thread.ts";
import { laneBaseOf } from "../thread/thread-data.ts";
import { type BranchOrigin, type LaneItem, LaneLog, UNKNOWN_ORIGIN } from "./lane-log.ts";

/** One lane as it was at a seq. */
export interface Context {
  readonly lane: string;
  readonly atSeq: number;
  /** The system prompt of the latest replace. */
  readonly systemPrompt?: string;
  /** Its messages, in the form a replace takes them, so that they can replace this lane or another one. */
  readonly entries: readonly ContextEntry[];
  /** Its items in order: messages of the latest replace, then the lane's entries after its base. */
  readonly items: readonly LaneItem[];
  /** The latest replace, with which the lane begins. */
  readonly anchor?: Entry;
  /** The size of all entries of the lane: see `measureOf`. */
  readonly measure: number;
  /** Whether the items include the beginning of the lane. False when it is before a loaded tail. */
  readonly complete: boolean;
}

/**
 * Folds one lane: the latest replace at or before `atSeq`, then the lane's entries after its base.
 *
 * @example
 * const thread = Thread.create().append({ kind: "message", payload: { role: "user", content: "hi" } });
 * foldLane(thread, "default").entries; // [{ role: "user", content: "hi" }]
 */
export function foldLane(thread: Thread, lane: string, options: { readonly atSeq?: number | undefined } = {}): Context {
  const { atSeq = thread.lastSeq } = fieldsOf(options, "options", "invalid_options");
  if (typeof lane !== "string" || lane === "") {
    throw new ThreadError({ code: "invalid_id", path: "lane", message: "lane must be a non-empty string." });
  }
  const { items, anchor, systemPrompt, measure, complete } = foldedLog(thread, lane, atSeq);
  return Object.freeze({
    lane,
    atSeq,
    ...(systemPrompt !== undefined && { systemPrompt }),
    entries: freezeJson(contextEntries(items)),
    items: Object.freeze(items),
    measure,
    complete,
    ...(anchor && { anchor }),
  });
}

function foldedLog(thread: Thread, lane: string, atSeq: number): LaneLog {
  const version = thread.upTo(atSeq);
  const log = createLaneLog(version, lane);
  for (const entry of version.toArray({ partial: true })) log.push(entry);
  return log;
}

/** A lane log with the data of the thread's base and no entries yet. `latest` returns the newest version of the thread. */
export function createLaneLog(
  thread: Thread,
  lane: string,
  { rules = LANE_RULES, latest = () => thread }: { readonly rules?: LaneRules; readonly latest?: () => Thread } = {},
): LaneLog {
  const reader = new LaneReader(thread.base, rules);
  return new LaneLog(lane, thread, reader, (from, atSeq) => originOf(latest(), { from, atSeq }, rules));
}

/**
 * The items a branch begins with. The lane it leaves may be a branch too, and so on. To avoid deep recursion, the oldest
 * lane is folded first, and its log is then reused for the next.
 */
function originOf(thread: Thread, branchPoint: Branch, rules: LaneRules): BranchOrigin {
  const reader = new LaneReader(thread.base, rules);
  const entries = entriesByLane(thread, reader);
  const branchAt = beginnings(thread, reader, entries);
  const branch = rules.followsOrigins ? ownerBranch(branchPoint, branchAt) : branchPoint;
  if (!isLoaded(thread, branch)) return UNKNOWN_ORIGIN;
  const origins = [branch];
  for (let at: Branch = branch; ; ) {
    const left = branchAt(at.from);
    if (left === undefined || left.seq > at.atSeq) break;
    at = rules.followsOrigins ? ownerBranch(left, branchAt) : left;
    if (!isLoaded(thread, at)) break;
    origins.push(at);
  }
  const log = new LaneLog(origins.at(-1)?.from ?? branch.from, thread, reader, (from, atSeq) =>
    originOf(thread, { from, atSeq }, rules),
  );
  for (const { from, atSeq } of origins.toReversed()) {
    if (from !== log.lane) log.continueAs(from);
    for (const entry of entries.get(from) ?? []) {
      if (entry.seq > atSeq) break;
      log.add(entry);
    }
  }
  return log;
}

/** The lane whose own entries hold a position. Before a lane began, that is the lane it left, and so on. */
export function findOwnerBranch(thread: Thread, branch: Branch): Branch {
  const reader = new LaneReader(thread.base);
  const entries = entriesByLane(thread, reader);
  return ownerBranch(branch, beginnings(thread, reader, entries));
}

/** The branch a lane began as, if any, and the seq of its first entry. */
type BranchAt = (lane: string) => (Branch & { readonly seq: number }) | undefined;

function beginnings({ base }: Thread, reader: LaneReader, entries: EntriesByLane): BranchAt {
  return (lane) => {
    const first = laneBaseOf(base, lane) === undefined ? entries.get(lane)?.[0] : undefined;
    const branch = first === undefined || reader.isMalformed(first) ? undefined : readBranch(first);
    return first && branch && { ...branch, seq: first.seq };
  };
}

function ownerBranch({ from, atSeq }: Branch, branchAt: BranchAt): Branch {
  let held = { from, atSeq };
  let before = Number.POSITIVE_INFINITY; // guards against a cycle: the default lane may be left before its first entry and then begin as a branch
  for (let origin = branchAt(from); origin !== undefined && origin.seq > held.atSeq; origin = branchAt(held.from)) {
    if (origin.seq >= before) break;
    before = origin.seq;
    held = { from: origin.from, atSeq: Math.min(held.atSeq, origin.atSeq) };
  }
  return held;
}

/**
 * Whether the position of the branch is loaded. The one directly before the loaded part counts too: the base has the state of
 * the lane there.
 */
function isLoaded({ firstSeq }: Thread, { atSeq }: Branch): boolean {
  return firstSeq === 0 || atSeq >= firstSeq - 1;
}

type EntriesByLane = ReadonlyMap<string, readonly Entry[]>;

function entriesByLane(thread: Thread, reader: LaneReader): EntriesByLane {
  const entries = new Map<string, Entry[]>();
  for (const entry of thread.toArray({ partial: true })) {
    const lane = reader.read(entry);
    const own = entries.get(lane);
    if (own === undefined) entries.set(lane, [entry]);
    else own.push(entry);
  }
  return entries;
}

/** One message of a lane, in the form of `resultContext.entries` of a `replace`. Not checked. */
export type ContextEntry = {
  readonly role: JsonValue;
  readonly content: JsonValue;
  readonly toolCalls?: JsonValue;
  readonly toolCallId?: JsonValue;
  readonly name?: JsonValue;
  readonly thinking?: JsonValue;
  readonly author?: JsonValue;
  readonly isError?: JsonValue;
  readonly call?: JsonValue;
  readonly editedArguments?: JsonValue;
  readonly refs?: JsonObject;
};

/** The payload fields of a message. */
const FIELDS = [
  "role",
  "content",
  "toolCalls",
  "toolCallId",
  "name",
  "author",
  "thinking",
  "isError",
  "call",
  "editedArguments",
] as const;

/** The messages of a lane, from entries of all built-in message kinds. Summaries, operations and other kinds are skipped. */
function contextEntries(items: readonly LaneItem[]): readonly ContextEntry[] {
  const entries: ContextEntry[] = [];
  let isAdjacent = false; // whether a call without a callId belongs to the message before it
  for (const item of items) {
    const entry = contextEntry(item);
    if (entry === undefined || isBlank(entry)) {
      isAdjacent &&= item.entry.kind !== "summary";
      continue;
    }
    const before = entries.at(-1);
    const isLoose = entry.role === "assistant" && entry.refs?.["callId"] === undefined;
    const isCall = isLoose && item.snapshot === undefined && item.entry.kind === "tool_call";
    if (isCall && isAdjacent && before !== undefined) entries[entries.length - 1] = withCalls(before, entry);
    else entries.push(entry);
    isAdjacent = isCall || (isLoose && item.snapshot === undefined && entry.toolCalls === undefined);
  }
  return entries;
}

function contextEntry({ entry, snapshot, cut }: LaneItem): ContextEntry | undefined {
  const { kind, payload: own, refs } = entry;
  const payload = cut ?? own;
  if (snapshot !== undefined) return isPlainObject(snapshot.message) ? (snapshot.message as ContextEntry) : undefined;
  const ofEntry = Object.keys(refs).length === 0 ? {} : { refs: refs as JsonObject };
  switch (kind) {
    case "message":
    case "ai_message": {
      const fields = FIELDS.flatMap((name) => (payload[name] === undefined ? [] : [[name, payload[name]] as const]));
      return { role: "", content: "", ...Object.fromEntries(fields), ...requestIn(payload, refs) };
    }
    case "tool_call": {
      const { id = refs["toolCallId"] ?? "", name = "", arguments: args = {}, metadata } = payload as JsonObject;
      const call = { id, name, arguments: args, ...(metadata !== undefined && { metadata }) };
      return { role: "assistant", content: "", toolCalls: [call], ...ofEntry };
    }
    case "tool_result": {
      const { toolCallId = refs["toolCallId"], name, result = null } = payload as JsonObject;
      const { content, isError } = resultText(result);
      const names = { ...(toolCallId !== undefined && { toolCallId }), ...(name !== undefined && { name }) };
      return { role: "tool", ...names, content, ...(isError && { isError }), ...ofEntry };
    }
    default:
      return undefined;
  }
}

/** Whether a model would be shown nothing: no text, no file, no call. */
function isBlank({ role, content, toolCalls }: ContextEntry): boolean {
  if (role === "tool" || (Array.isArray(toolCalls) && toolCalls.length > 0)) return false;
  if (typeof content === "string") return content.trim() === "";
  return Array.isArray(content) && content.every((part) => isBlankPart(part) || isThinking(part));
}

function isBlankPart(part: JsonValue): boolean {
  return (
    isPlainObject(part) && part["type"] === "text" && typeof part["text"] === "string" && part["text"].trim() === ""
  );
}

function isThinking(part: JsonValue): boolean {
  return isPlainObject(part) && part["type"] === "thinking";
}

/** The requestId may be in the payload instead of the refs. */
function requestIn(payload: JsonObject, refs: JsonObject): { readonly refs?: JsonObject } {
  const { requestId } = payload;
  const all = { ...(typeof requestId === "string" && { requestId }), ...refs };
  return Object.keys(all).length === 0 ? {} : { refs: all };
}

function withCalls(entry: ContextEntry, { toolCalls }: ContextEntry): ContextEntry {
  const list = (calls: JsonValue | undefined): readonly JsonValue[] => (Array.isArray(calls) ? calls : []);
  return { ...entry, toolCalls: [...list(entry.toolCalls), ...list(toolCalls)] };
}

/** Whether a stored context equals the thread's. */
export type LaneReport =
  | { readonly ok: true }
  /** The index of the first item that differs. -1 when the items are equal but another field differs. */
  | { readonly ok: false; readonly item: number };

/**
 * Folds the lane of a stored context again at the same seq and compares.
 *
 * @example
 * const thread = Thread.create().append({ kind: "message", payload: { role: "user", content: "hi" } });
 * verifyLane(thread, foldLane(thread, "default")); // { ok: true }
 */
export function verifyLane(thread: Thread, view: Context): LaneReport {
  const folded = foldLane(thread, view.lane, { atSeq: view.atSeq });
  const length = Math.max(folded.items.length, view.items.length);
  for (let item = 0; item < length; item++) {
    if (!isSameItem(folded.items[item], view.items[item])) return { ok: false, item };
  }
  const isSame =
    folded.anchor?.id === view.anchor?.id &&
    folded.systemPrompt === view.systemPrompt &&
    folded.measure === view.measure &&
    folded.complete === view.complete &&
    sameJson(folded.entries, view.entries);
  return isSame ? { ok: true } : { ok: false, item: -1 };
}

function isSameItem(a: LaneItem | undefined, b: LaneItem | undefined): boolean {
  if (a === undefined || b === undefined) return false;
  return (
    a.open === b.open &&
    a.position === b.position &&
    a.reach === b.reach &&
    a.snapshot?.index === b.snapshot?.index &&
    sameJson(a.snapshot?.message, b.snapshot?.message) &&
    a.entry.id === b.entry.id &&
    a.entry.seq === b.entry.seq &&
    a.entry.kind === b.entry.kind &&
    sameJson(a.entry.payload, b.entry.payload)
  );
}
