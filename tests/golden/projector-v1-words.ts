import { project } from "../../src/projection/projector.ts";
import { assistant, toolCall, toolResult, user } from "../../src/testing/builders.ts";
import type { EntryInput } from "../../src/thread/entry.ts";
import type { JsonValue } from "../../src/thread/json.ts";
import { Thread } from "../../src/thread/thread.ts";

const at = Date.UTC(2026, 0, 1);
/** Ids and times that are always the same. */
export const named = (entries: readonly EntryInput[]): EntryInput[] =>
  entries.map((entry, seq) => ({ id: `entry_${seq}`, at: at + seq * 1000, ...entry }));

export const ai = (role: string, content: JsonValue, more: Record<string, JsonValue> = {}, refs = {}): EntryInput => ({
  kind: "ai_message",
  payload: { contextRef: "default", role, content, ...more },
  refs,
});
export const operation = (contextRef: string, opId: string, fields: Record<string, JsonValue>): EntryInput => ({
  kind: "ai_context_operation",
  payload: { opId, contextRef, operation: { reason: "manual", ...fields } },
});
export const of = (callId: string, requestId = "request_1") => ({ refs: { callId, requestId } });

const words = "the shuttle carries the weft through the shed while the heddles lift every second thread of the warp ";
export const long = (n: number, length: number): string => `${n}: ${words.repeat(8)}`.slice(0, length);
export const turns = (count: number): EntryInput[] =>
  Array.from({ length: count }, (_, n) => [
    user(`Question ${long(n, 20 + ((n * 37) % 90))}`),
    assistant(`Answer ${long(n, 30 + ((n * 53) % 150))}`),
  ]).flat();
export const rounds = (from: number, to: number): EntryInput[] =>
  Array.from({ length: to - from + 1 }, (_, step) => {
    const n = from + step;
    return [
      toolCall("call_0", "read_log", { from: n * 100, lines: 100 }, of(`call_${n}`)),
      toolResult("call_0", "read_log", { ok: true, value: long(n, 120 + ((n * 71) % 300)) }, of(`call_${n}`)),
    ];
  }).flat();
export const run = (count: number): EntryInput[] => [
  user("Why is the loom slow?", { refs: { requestId: "request_1" } }),
  ...rounds(0, Math.floor(count / 2)),
  user("Look at the motor first.", { refs: { requestId: "request_1" } }),
  ...rounds(Math.floor(count / 2) + 1, count),
];

export const calculator = {
  name: "calculator",
  description: "Multiplies.",
  inputSchema: { type: "object", properties: { left: { type: "number" }, by: { type: "number" } }, required: ["left"] },
};
export const model = "anthropic:claude-opus-4";

/** A run that thinks, each answer recorded with the fingerprint of what it was shown. */
export function thinkingRun(): EntryInput[] {
  const entries: EntryInput[] = [user("Plan the weave.", { refs: { requestId: "request_1" } })];
  for (let n = 0; n < 3; n++) {
    const thread = Thread.create().append(named(entries));
    const { fingerprint } = project({ thread, model, system: "Plan.", tools: [calculator] }).meta;
    const metadata = { anthropic: { signature: `signature ${n}` } };
    const thinking = [{ text: `Idea ${n}.`, provider: "anthropic.messages", model: "claude-opus-4", metadata }];
    const toolCalls = [{ id: `toolu_${n}`, name: "calculator", arguments: { left: n, by: 3 } }];
    const call = { model, fingerprint };
    entries.push(ai("assistant", `Step ${n}.`, { toolCalls, thinking, call }, of(`call_${n}`).refs));
    entries.push(ai("tool", String(n * 3), { toolCallId: `toolu_${n}`, name: "calculator" }, of(`call_${n}`).refs));
  }
  return entries;
}

export const image = { type: "file", mediaType: "image/png", data: { url: "https://example.com/loom.png" } };
export const snapshot = [
  { role: "user", content: "We were weaving." },
  { role: "assistant", content: "", toolCalls: [{ id: "old", name: "calculator", arguments: { left: 1, by: 2 } }] },
  { role: "tool", toolCallId: "old", name: "calculator", content: "2" },
];
export const sliding = { mode: "sliding" } as const;
export const tight = { maxInputTokens: 900, reserveOutputTokens: 100 };

/** The builder makes up an id. */
export function fixedOp(entry: EntryInput): EntryInput {
  return entry.kind === "ai_context_operation" ? { ...entry, payload: { ...entry.payload, opId: "op_1" } } : entry;
}

/** What a tool may give. */
export const oddResults: readonly JsonValue[] = [
  { ok: true, value: "text" },
  { ok: false, error: { type: "timeout", message: "zu spät ☂" } },
  "bare",
  null,
  0,
  { ok: "maybe" },
  [1, { a: "b" }],
];

/** An answer with everything in it that only its provider can read. */
export const searched: JsonValue = [
  {
    type: "provider_call",
    id: "s1",
    name: "web_search",
    arguments: { query: "looms" },
    metadata: { openai: { itemId: "i1" } },
  },
  { type: "provider_result", id: "s1", name: "web_search", result: [{ title: "Looms" }] },
  { type: "source", sourceType: "url", id: "u1", url: "https://example.com", title: "Looms" },
  { type: "custom", kind: "openai.note", data: { a: 1 } },
  { type: "text", text: "", metadata: { google: { thoughtSignature: "s" } } },
  { type: "text", text: "Looms.", metadata: { openai: { itemId: "i2" } } },
];
