import type { Entry } from "../thread/entry.ts";
import { isPlainObject, type JsonObject } from "../thread/json.ts";
import type { ThreadCounts } from "./port.ts";
import type { HeadSums, ThreadHead } from "./stored-records.ts";

export const NO_SUMS: HeadSums = Object.freeze({ counts: Object.freeze({ asks: 0, answers: 0 }), first: null });

/** The sums over all entries of a thread. Undefined when its beginning was written by version 0.1, which kept none. */
export function sumsOf({ rev, lanes }: Pick<ThreadHead, "rev" | "lanes">): HeadSums | undefined {
  if (rev === 0) return NO_SUMS;
  return "sums" in lanes ? lanes.sums : undefined;
}

type SummedEntry = Pick<Entry, "seq" | "kind" | "payload">;

/** Whether an entry is a message of the user, and not one that steers a running request. */
export function isUserMessage({ kind, payload }: Pick<Entry, "kind" | "payload">): boolean {
  const { role, steer } = payload as JsonObject; // every payload is a JSON object
  return isMessage(kind) && role === "user" && steer === undefined;
}

function isMessage(kind: string): boolean {
  return kind === "ai_message" || kind === "message";
}

/** The sums after one more entry. */
export function sumsAfter(sums: HeadSums, entry: SummedEntry): HeadSums {
  const { role, content } = entry.payload as JsonObject; // every payload is a JSON object
  if (isMessage(entry.kind) && role === "assistant")
    return { ...sums, counts: plus(sums.counts, { asks: 0, answers: 1 }) };
  if (!isUserMessage(entry)) return sums;
  const words = sums.first === null ? firstWords(content) : "";
  return {
    counts: plus(sums.counts, { asks: 1, answers: 0 }),
    first: words === "" ? sums.first : Object.freeze({ seq: entry.seq, words }),
  };
}

function plus(counts: ThreadCounts | null, { asks, answers }: ThreadCounts): ThreadCounts | null {
  return counts && Object.freeze({ asks: counts.asks + asks, answers: counts.answers + answers });
}

/** The sums without the last entries of the thread, `later`. It is undefined when they are too many to count. */
export function sumsBefore(sums: HeadSums, seq: number, later: readonly SummedEntry[] | undefined): HeadSums {
  const first = sums.first !== null && sums.first.seq < seq ? sums.first : null;
  const { counts } = (later ?? []).reduce(sumsAfter, NO_SUMS);
  const isKnown = later !== undefined && counts !== null;
  return { first, counts: isKnown ? plus(sums.counts, { asks: -counts.asks, answers: -counts.answers }) : null };
}

/** Whether stored sums agree with those of the whole thread. A stored part that is null agrees with anything. */
export function areSumsOf(sums: HeadSums, all: HeadSums): boolean {
  const isFirst = sums.first?.seq === all.first?.seq && sums.first?.words === all.first?.words;
  const { counts } = sums;
  return isFirst && (counts === null || (counts.asks === all.counts?.asks && counts.answers === all.counts.answers));
}

const MAX_LETTERS = 80;
/** The rest of a long text is not looked at. */
const MAX_READ = 1000;

/** The first words of a message on one line, cut at a word. Empty when it has no text. */
export function firstWords(content: unknown): string {
  const text = textOf(content).trimStart();
  const line = text.slice(0, MAX_READ).replaceAll(/\s+/g, " ").trimEnd();
  const letters = [...line];
  if (letters.length <= MAX_LETTERS && text.length <= MAX_READ) return line;
  const start = letters.slice(0, MAX_LETTERS - 1).join("");
  const space = letters[MAX_LETTERS - 1] === " " ? -1 : start.lastIndexOf(" ");
  return `${(space > 0 ? start.slice(0, space) : start).trimEnd()}…`;
}

function textOf(content: unknown): string {
  if (Array.isArray(content)) return content.map(partText).join(" ");
  return typeof content === "string" ? content : "";
}

function partText(part: unknown): string {
  return isPlainObject(part) && typeof part["text"] === "string" ? part["text"] : "";
}
