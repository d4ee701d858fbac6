import type { LaneItem, LaneLog } from "../../lanes/lane-log.ts";
import { measureOfJson } from "../../lanes/measure.ts";
import { draftEntry, type Entry, type EntryInput, placeEntry } from "../../thread/entry.ts";
import { isPlainObject, type JsonObject } from "../../thread/json.ts";
import { namedLane } from "../../thread/lane-operation.ts";
import type { Message } from "../../thread/message.ts";
import type { Ports } from "../../thread/ports.ts";
import { invalid } from "./check.ts";
import type { PendingItem } from "./input.ts";

/** A pending entry is in no log yet, so it needs no real time or id. */
const PORTS: Ports = { clock: () => 0, ids: () => "pending" };

/** Pending items as checked copies of the entries they will become. */
export function pendingEntries(
  pending: PendingItem | readonly PendingItem[] | undefined,
  rev: number,
  lane: string,
): readonly Entry[] {
  if (pending === undefined) return [];
  const list: readonly PendingItem[] = isList(pending) ? pending : [pending];
  return list.map((item, index) => {
    const path = `pending[${index}]`;
    return placeEntry(draftEntry(inputOf(item, path, lane), path, PORTS), rev + index);
  });
}

/** The places of pending entries on their lane. */
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
  return isMessage(item) ? messageInput(item, lane) : (item as EntryInput); // draftEntry checks every field
}

function isMessage(item: object): item is Message {
  return "role" in item && !("kind" in item) && !("payload" in item);
}

/** The entry an agent would write. Calls and results use the kind `ai_message`. */
function messageInput(message: Message, contextRef: string): EntryInput {
  const isPlain = message.role !== "tool" && !("toolCalls" in message);
  const payload = isPlain ? { ...message } : { contextRef, ...message };
  return { kind: isPlain ? "message" : "ai_message", payload: payload as unknown as JsonObject }; // draftEntry checks it
}

function isList(pending: PendingItem | readonly PendingItem[]): pending is readonly PendingItem[] {
  return Array.isArray(pending);
}
