import fc from "fast-check";
import type { EntryInput, JsonObject } from "heddle";
import type { Draft } from "./turns.ts";
import { args, callId, content, maybe, result, text, toolName } from "./words.ts";

// What happens to a conversation besides turns. Numbers named "back" count from the moment it happens.

/** From here the thread is an earlier version of itself. */
export interface Fork {
  readonly back: number;
  readonly how: "fork" | "up to";
}

const back = fc.nat({ max: 12 });
const lane = fc.constantFrom("default", "side", "deep");

/** Some do not fit beside what is new. */
const summaryText = fc.oneof(
  { weight: 4, arbitrary: text },
  { weight: 1, arbitrary: fc.integer({ min: 10, max: 400 }).map((words) => "fact. ".repeat(words)) },
);
const summary: fc.Arbitrary<Draft> = fc.record({ from: back, to: back, text: summaryText, ahead: fc.boolean() }).map(
  ({ from, to, text, ahead }): Draft =>
    ({ seq }) => ({
      kind: "summary",
      payload: {
        fromSeq: Math.max(0, seq - from),
        toSeq: ahead && to === 0 ? seq + 3 : Math.max(0, seq - to),
        content: text,
      },
    }),
);

const snapshotItem: fc.Arbitrary<JsonObject> = fc.oneof(
  fc.record({ role: fc.constantFrom("user", "user", "assistant", "system", "developer"), content }),
  fc
    .record({ callId, name: toolName, args, words: text, refs: fc.constantFrom({}, { callId: "c0.1" }) })
    .map(({ callId: id, name, args, words, refs }) => ({
      role: "assistant",
      content: words,
      toolCalls: [{ ...(id !== undefined && { id }), name, arguments: args }],
      refs,
    })),
  fc
    .record({ callId, name: toolName, words: text })
    .map(({ callId, name, words }) => ({ role: "tool", ...(callId && { toolCallId: callId }), name, content: words })),
) as fc.Arbitrary<JsonObject>;

/** Now and then one that is none: the operation then does nothing. */
const reason = fc.oneof({ weight: 15, arbitrary: fc.constant("manual") }, fc.constantFrom("compact", "Manual"));

const replace: fc.Arbitrary<Draft> = fc
  .record({
    lane: maybe(2, lane),
    base: maybe(7, back),
    entries: fc.array(snapshotItem, { maxLength: 4 }),
    systemPrompt: maybe(3, text),
    reason,
  })
  .map(
    ({ lane, base, entries, systemPrompt, reason }): Draft =>
      (moment) =>
        operation(lane ?? moment.lane, {
          type: "replace",
          reason,
          resultContext: { id: "ctx", ...(systemPrompt !== undefined && { systemPrompt }), entries },
          ...(base !== undefined && { baseSeq: moment.seq - base }),
        }),
  );

const switchTo: fc.Arbitrary<Draft> = fc.record({ lane, from: maybe(7, lane), at: back, reason }).map(
  ({ lane, from, at, reason }): Draft =>
    ({ seq }) =>
      operation(lane, { type: "switch", reason, ...(from && { from, atSeq: Math.max(-1, seq - at) }) }),
);

function operation(contextRef: string, what: JsonObject): EntryInput {
  return { kind: "ai_context_operation", payload: { opId: "op", contextRef, operation: what } };
}

/** The answer that is so many entries back, if it is one, is cut. */
const cut: fc.Arbitrary<Draft> = fc
  .record({ lane: maybe(2, lane), back: fc.nat({ max: 8 }), characters: fc.nat({ max: 12 }) })
  .map(
    ({ lane, back, characters }): Draft =>
      ({ seq }) => ({
        kind: "note",
        payload: { ...(lane && { contextRef: lane }), cut: { seq: Math.max(0, seq - back), characters } },
      }),
  );

const entry = (kind: string, payload: fc.Arbitrary<JsonObject>, refs = {}): fc.Arbitrary<Draft> =>
  payload.map(
    (payload): Draft =>
      () => ({ kind, payload, refs }),
  );

const strayResult = fc
  .record({ callId, name: toolName, result })
  .chain(({ callId, name, result }) =>
    entry("tool_result", fc.constant({ ...(callId && { toolCallId: callId }), name, result })),
  );

export const disturbance: fc.Arbitrary<Draft | Fork> = fc.oneof(
  { weight: 4, arbitrary: summary },
  { weight: 2, arbitrary: replace },
  { weight: 1, arbitrary: switchTo },
  { weight: 2, arbitrary: fc.record({ back, how: fc.constantFrom("fork" as const, "up to" as const) }) },
  { weight: 2, arbitrary: strayResult },
  { weight: 3, arbitrary: cut },
  entry("note", fc.constant({ n: 1 })),
  entry("acme.invoice", fc.constant({ total: 3 })),
  entry("message", fc.record({ role: fc.constantFrom("system", "developer"), content: text })),
  entry("message", fc.record({ role: fc.constantFrom("user", "assistant"), content })),
  entry("message", fc.record({ contextRef: lane, role: fc.constant("user"), content })),
);

/** Entries that no projection can read, or only a later version. */
export const garbage: fc.Arbitrary<Draft> = fc
  .constantFrom<EntryInput>(
    { kind: "message", payload: { role: "user" } },
    { kind: "message", payload: { role: "wizard", content: "hi" } },
    { kind: "message", payload: { role: 7, content: "hi" } },
    { kind: "message", payload: { role: "user", content: [1] } },
    { kind: "message", payload: { role: "user", content: "from the future" }, v: 9 },
    { kind: "tool_call", payload: { id: "call_0" } },
    { kind: "tool_result", payload: { toolCallId: "call_0", name: "search" } },
    { kind: "ai_message", payload: { role: "assistant", content: "hi", toolCalls: [{}] } },
    { kind: "summary", payload: { fromSeq: 0, toSeq: 2, content: 7 } },
    { kind: "summary", payload: { fromSeq: 0, toSeq: "2", content: "no number" } },
    { kind: "ai_context_operation", payload: { operation: "replace" } },
  )
  .map(
    (entry): Draft =>
      () =>
        entry,
  );
