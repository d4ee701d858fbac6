import type { Entry } from "../../thread/entry.ts";
import { isPlainObject, type JsonObject, type JsonValue } from "../../thread/json.ts";

// Pure code that also runs in the page: an exported page sorts entries without a server.

/** Categories of entries for a reader. An entry can have several. */
export const SORTS = [
  "messages",
  "thinking",
  "calls",
  "results",
  "summaries",
  "context",
  "steering",
  "errors",
] as const;

type Sort = (typeof SORTS)[number];

const MESSAGES = ["message", "ai_message"];

/** The kinds of entries that a sort has besides messages. */
const KINDS: { readonly [Name in Sort]: readonly string[] } = {
  messages: [],
  thinking: [],
  calls: ["tool_call", "tool_started", "approval_requested", "approval_resolved", "instruction_start"],
  results: ["tool_result", "instruction_end"],
  summaries: ["summary"],
  context: ["ai_context_operation"],
  steering: [],
  errors: ["error", "tool_result", "note", "instruction_end"],
};

/** A text that every message of a sort contains. Sorts without messages are missing. */
const WORDS: { readonly [Name in Sort]?: string } = {
  messages: "",
  thinking: "thinking",
  calls: "toolCalls",
  results: "tool",
  steering: "steer",
  errors: "isError",
};

function isSort(word: string): word is Sort {
  return (SORTS as readonly string[]).includes(word);
}

interface Reading {
  readonly kinds: readonly string[];
  readonly search: string;
}

/** The reads that find all entries of these sorts or kinds. Each word is one of the two. */
export function readingsFor(words: readonly string[]): readonly Reading[] {
  const others = words.flatMap((word) => (isSort(word) ? KINDS[word] : [word]));
  const inMessages = words.flatMap((word) => (isSort(word) ? (WORDS[word] ?? []) : []));
  const searches = inMessages.includes("") ? [""] : [...new Set(inMessages)];
  return [
    ...(others.length === 0 ? [] : [{ kinds: [...new Set(others)], search: "" }]),
    ...searches.map((search) => ({ kinds: MESSAGES, search })),
  ];
}

/** Whether an entry has one of these sorts or kinds. */
export function isOf(entry: Pick<Entry, "kind" | "payload">, words: readonly string[]): boolean {
  const sorts = sortsOf(entry);
  return words.some((word) => (isSort(word) ? sorts.includes(word) : word === entry.kind));
}

function sortsOf({ kind, payload }: Pick<Entry, "kind" | "payload">): readonly Sort[] {
  const said = payload as JsonObject; // payloads are JSON
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

function ofMessage(said: JsonObject): readonly Sort[] {
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
