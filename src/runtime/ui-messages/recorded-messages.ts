import { portableSha256 } from "../../thread/encoding.ts";
import type { Entry } from "../../thread/entry.ts";
import { isPlainObject, type JsonObject, type JsonValue, sameJson } from "../../thread/json.ts";
import { collectTexts, decodeOriginal, encodeOriginal, shareTexts } from "../../thread/messages/original.ts";
import type { UIChatMessage } from "./message.ts";

// The messages of a page as the page had them, in a note. Entries lack metadata, data parts, approvals and the ids of a page.
// A text that an entry has is not stored twice.

/** Messages of a page, in place of those that the entries of these seqs make. */
export interface RecordedMessages {
  readonly fromSeq: number;
  readonly toSeq: number;
  readonly messages: readonly UIChatMessage[];
}

const KINDS: ReadonlySet<string> = new Set(["message", "ai_message", "tool_call", "tool_result"]);

/** The records of a lane that hold. A later one replaces those that it overlaps. */
export function recordedMessages(entries: readonly Entry[]): readonly RecordedMessages[] {
  let records: readonly RecordedMessages[] = [];
  for (const { kind, payload } of entries) {
    const { shown }: JsonObject = payload;
    const record = kind === "note" && isPlainObject(shown) ? decode(entries, shown as JsonObject) : undefined;
    if (record === undefined) continue;
    const { fromSeq, toSeq } = record;
    records = [...records.filter((one) => one.toSeq < fromSeq || one.fromSeq > toSeq), record];
  }
  return records.toSorted((a, b) => a.fromSeq - b.fromSeq);
}

/**
 * The field `shown` of a note that has these messages, as far as the records of the lane do not have them. `entries` are
 * those of the lane that belong to the messages. Undefined when nothing is new.
 */
export function recordOf(entries: readonly Entry[], messages: readonly object[]): JsonObject | undefined {
  const wanted = encodeOriginal(messages, "messages") as readonly JsonValue[]; // a list stays a list
  let count = 0;
  let from = -1;
  for (const { fromSeq, toSeq, messages: shown } of recordedMessages(entries)) {
    const own = encodeOriginal(shown, "messages");
    const after = from;
    const isNext = !entries.some((entry) => KINDS.has(entry.kind) && entry.seq > after && entry.seq < fromSeq);
    if (!isNext || !sameJson(own, wanted.slice(count, count + shown.length))) break;
    count += shown.length;
    from = toSeq;
  }
  const before = from;
  const covered = entries.filter(({ kind, seq }) => KINDS.has(kind) && seq > before);
  const [first] = covered;
  const last = covered.at(-1);
  if (count === wanted.length || first === undefined || last === undefined) return undefined;
  const texts = textsOf(entries, first.seq, last.seq);
  const shared = shareTexts(wanted.slice(count), texts);
  return { fromSeq: first.seq, toSeq: last.seq, texts: portableSha256(JSON.stringify(texts)), messages: shared };
}

/** Undefined when the entries are not those that the note was made from: then the entries are shown. */
function decode(entries: readonly Entry[], { fromSeq, toSeq, texts: hash, messages = [] }: JsonObject) {
  if (typeof fromSeq !== "number" || typeof toSeq !== "number") return undefined;
  const texts = textsOf(entries, fromSeq, toSeq);
  if (portableSha256(JSON.stringify(texts)) !== hash) return undefined;
  const decoded = decodeOriginal(messages, texts) as readonly UIChatMessage[]; // as the app saved them
  return { fromSeq, toSeq, messages: decoded };
}

function textsOf(entries: readonly Entry[], from: number, to: number): readonly string[] {
  const own = entries.filter(({ kind, seq }) => KINDS.has(kind) && seq >= from && seq <= to);
  return collectTexts(own.map(({ payload }) => payload));
}
