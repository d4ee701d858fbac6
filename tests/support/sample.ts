import type { StoreOptions } from "../../src/stores/options.ts";
import type { ThreadStore } from "../../src/stores/port.ts";
import type { EntryInput } from "../../src/thread/entry.ts";
import type { JsonObject } from "../../src/thread/json.ts";
import type { Names } from "./everything.ts";

/** A clock that stands still, ids that count and salts that repeat: the same calls give the same bytes. */
export function countingPorts(): StoreOptions {
  let made = 0;
  return {
    clock: () => 1_700_000_000_000,
    ids: (prefix) => `${prefix}_${++made}`,
    random: (size) => new Uint8Array(size).fill(++made % 251),
  };
}

/** A little of everything a store can hold. Golden files were made of it: it may grow no more. */
export async function writeSample(store: ThreadStore): Promise<Names> {
  await writeTalk(store);
  const big = "wool ".repeat(6_600);
  await store.append("big", [note({ big }), note({ big }), note({ small: true })], { metadata: { status: "open" } });
  await store.append(
    "counted",
    Array.from({ length: 20 }, (_, n) => note({ n })),
  );
  await store.append("odd names: 'quoted' \"é\"", entry("my own kind", { nested: [{ a: null }, [], 1e300] }));
  await store.fork("big", { atSeq: 1, newId: "big-fork", metadata: { status: "forked" } });
  await store.fork("talk", { atSeq: 6, newId: "talk-fork" });
  await store.append("talk-fork", note({ after: "the fork" }));
  await store.append("gone", [note({ n: 1 }), note({ n: 2 })]);
  await store.delete("gone");
  await store.putCheckpoint("resume", { phase: "after_llm", basis: [1, 2, 3] });
  await store.putCheckpoint("empty", null);
  const json = await store.putBlob({ policy: "balanced", prompt: "weave ".repeat(200) });
  const bytes = await store.putBlob(Uint8Array.from({ length: 300 }, (_, i) => (i * 7) % 256));
  return { checkpoints: ["resume", "empty", "never put"], blobs: [json, bytes] };
}

/** A call, its result, a summary, and a second lane that is replaced. */
async function writeTalk(store: ThreadStore): Promise<void> {
  const refs = { requestId: "r1", iteration: 1 };
  const ask = { ...entry("message", { role: "user", content: "What's 2+2? 🧵" }), refs, v: 1 };
  const call = entry("tool_call", { id: "c1", name: "add", arguments: { a: 2, b: 2 } });
  await store.append("talk", [ask, call, entry("tool_result", { toolCallId: "c1", name: "add", result: 4 })]);
  const metadata = { status: "done", title: "Sums \u0000 \u2028" };
  await store.append("talk", entry("message", { role: "assistant", content: "4" }), { metadata });
  const summary = entry("summary", { fromSeq: 0, toSeq: 2, content: "a sum" });
  await store.append("talk", [summary, note({ n: 1, contextRef: "research" }), operation({ type: "switch" })]);
  const resultContext = { id: "ctx_1", entries: [{ role: "user", content: "afresh" }] };
  await store.append("talk", [
    note({ n: 2 }),
    operation({ type: "replace", baseSeq: 5, resultContext }),
    note({ n: 3 }),
  ]);
}

function operation(what: JsonObject): EntryInput {
  const operation = { ...what, reason: "manual" };
  return entry("ai_context_operation", { opId: `op_${String(what["type"])}`, contextRef: "research", operation });
}

function note(payload: JsonObject): EntryInput {
  return entry("note", payload);
}

function entry(kind: string, payload: JsonObject): EntryInput {
  return { kind, payload };
}
