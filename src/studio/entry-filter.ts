import type { Entry } from "../thread/entry.ts";
import { isPlainObject, type JsonObject, type JsonValue } from "../thread/json.ts";
import { LaneReader } from "../thread/lane-operations.ts";
import type { ThreadBase } from "../thread/thread-data.ts";

// Pure code without server imports: an exported page also filters entries.

/** The categories by which a user filters entries. An entry can have several. */
export const ENTRY_CATEGORIES = [
  "messages",
  "thinking",
  "calls",
  "results",
  "summaries",
  "context",
  "steering",
  "errors",
] as const;

type Category = (typeof ENTRY_CATEGORIES)[number];

const MESSAGES = ["message", "ai_message"];

/** The entry kinds of each category, in addition to messages. */
const KINDS: { readonly [Name in Category]: readonly string[] } = {
  messages: [],
  thinking: [],
  calls: [
    "tool_call",
    "tool_started",
    "question_asked",
    "question_answered",
    "sleep_started",
    "approval_requested",
    "approval_resolved",
    "instruction_start",
  ],
  results: ["tool_result", "instruction_end"],
  summaries: ["summary"],
  context: ["ai_context_operation", "ai_setting"],
  steering: [],
  errors: ["error", "tool_result", "note", "instruction_end"],
};

/** A text that the JSON of every message in the category contains. Categories without messages are absent. */
const WORDS: { readonly [Name in Category]?: string } = {
  messages: "",
  thinking: "thinking",
  calls: "toolCalls",
  results: "tool",
  steering: "steer",
  errors: "isError",
};

function isCategory(word: string): word is Category {
  return (ENTRY_CATEGORIES as readonly string[]).includes(word);
}

interface Reading {
  readonly kinds: readonly string[];
  readonly search: string;
}

/** Returns the store reads that find all entries of these categories or kinds. */
export function readsFor(words: readonly string[]): readonly Reading[] {
  const others = words.flatMap((word) => (isCategory(word) ? KINDS[word] : [word]));
  const inMessages = words.flatMap((word) => (isCategory(word) ? (WORDS[word] ?? []) : []));
  const searches = inMessages.includes("") ? [""] : [...new Set(inMessages)];
  return [
    ...(others.length === 0 ? [] : [{ kinds: [...new Set(others)], search: "" }]),
    ...searches.map((search) => ({ kinds: MESSAGES, search })),
  ];
}

/** Whether an entry has one of these categories or kinds. */
export function matchesFilter(entry: Pick<Entry, "kind" | "payload">, words: readonly string[]): boolean {
  const categories = categoriesOf(entry);
  return words.some((word) => (isCategory(word) ? categories.includes(word) : word === entry.kind));
}

function categoriesOf({ kind, payload }: Pick<Entry, "kind" | "payload">): readonly Category[] {
  const said = payload as JsonObject; // every entry payload is a JSON object
  if (MESSAGES.includes(kind)) return ofMessage(said);
  const isBad = said["isError"] === true || said["status"] === "error";
  switch (kind) {
    case "tool_result":
    case "instruction_end":
      return isBad ? ["results", "errors"] : ["results"];
    case "error":
      return ["errors"];
    case "note":
      return fieldOf(said["end"], "status") === "failed" ? ["errors"] : [];
    default:
      return (["calls", "summaries", "context"] as const).filter((sort) => KINDS[sort].includes(kind));
  }
}

function ofMessage(said: JsonObject): readonly Category[] {
  const { role, content } = said;
  if (role === "tool") return said["isError"] === true ? ["results", "errors"] : ["results"];
  if (said["steer"] !== undefined) return ["messages", "steering"];
  const calls = said["toolCalls"];
  const hasCalls = Array.isArray(calls) && calls.length > 0;
  const hasThinking = Array.isArray(content) && content.some((part) => fieldOf(part, "type") === "thinking");
  const hasText =
    typeof content === "string"
      ? content !== ""
      : Array.isArray(content) && content.some((part) => !NO_TEXT.includes(String(fieldOf(part, "type"))));
  return [
    ...(hasText || !(hasCalls || hasThinking) ? (["messages"] as const) : []),
    ...(hasThinking ? (["thinking"] as const) : []),
    ...(hasCalls ? (["calls"] as const) : []),
  ];
}

const NO_TEXT = ["thinking", "tool_call"];

function fieldOf(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return isPlainObject(value) ? value[name] : undefined;
}

/**
 * Returns the entries of a lane: those that name it, and those without a lane while it is active. `base` has the active
 * lane before the first entry.
 */
export function entriesOfLane(entries: readonly Entry[], base: ThreadBase | undefined, lane: string): readonly Entry[] {
  const reader = new LaneReader(base);
  return entries.filter((entry) => reader.read(entry) === lane);
}

/** Returns every lane with entries, in order of appearance, and the lane that is active at the end. */
export function lanesOf(
  entries: readonly Entry[],
  base: ThreadBase | undefined,
): { readonly lanes: readonly string[]; readonly activeLane: string } {
  const reader = new LaneReader(base);
  const written = [...Object.keys(base?.lanes ?? {}), ...entries.map((entry) => reader.read(entry))];
  return { lanes: [...new Set([...written, reader.active])], activeLane: reader.active };
}
