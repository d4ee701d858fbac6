import { type EntryInput, HeddleError, type JsonObject, type Refs, Thread } from "heddle";
import type { Ports } from "heddle/core";
import { expect } from "vitest";

/** A clock that ticks by one and ids that count: equal runs give equal bytes. */
export function countingPorts(): Ports {
  let now = 1_000;
  let made = 0;
  return { clock: () => now++, ids: (prefix) => `${prefix}_${made++}` };
}

export function note(text: string, refs: Refs = {}): EntryInput {
  return { payload: { text }, refs };
}

export function user(text: string, refs: Refs = {}): EntryInput {
  return { kind: "message", payload: { role: "user", content: text }, refs };
}

export function assistant(text: string, refs: Refs = {}, more: JsonObject = {}): EntryInput {
  return { kind: "message", payload: { role: "assistant", content: text, ...more }, refs };
}

export function toolCall(id: string, refs: Refs = {}): EntryInput {
  return { kind: "tool_call", payload: { id, name: "add", arguments: { a: 1 } }, refs };
}

export function toolResult(toolCallId: string, refs: Refs = {}): EntryInput {
  return { kind: "tool_result", payload: { toolCallId, name: "add", result: 2 }, refs };
}

/** A thread of so many notes: "0", "1", "2" ... */
export function notes(count: number): Thread {
  const thread = Thread.create({ id: "thread_a", ...countingPorts() });
  return thread.append(Array.from({ length: count }, (_, seq) => note(String(seq))));
}

/** The last `count` entries of a thread, as a store loads them. */
export function tailOf(thread: Thread, count: number): Thread {
  const firstSeq = thread.rev - count;
  const base = { activeLane: "default", lanes: { default: { measure: 3 * firstSeq } } };
  return Thread.fromJSON({ ...thread.toJSON(), firstSeq, base, entries: thread.toArray().slice(firstSeq) });
}

export function textsOf(thread: Thread): unknown[] {
  return thread.toArray({ partial: true }).map(({ payload }) => payload["text"]);
}

/** What a call threw; it must be one of Heddle's own errors. */
export function errorOf(call: () => unknown): HeddleError {
  try {
    call();
  } catch (error) {
    if (HeddleError.isInstance(error)) return error;
    throw new Error("Something else than a HeddleError was thrown.", { cause: error });
  }
  return expect.fail("Nothing was thrown.");
}
