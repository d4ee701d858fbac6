import { AgentServer, defineAgent, type JsonObject, memoryStore, project, Thread, transcript } from "heddle";
import { foldLane, isAsk } from "heddle/core";
import { scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";

let count = 0;
const ports = { clock: () => 9, ids: (prefix: string) => `${prefix}_new${count++}` };

const exported = {
  thread: {
    id: "thread_7",
    rev: 2,
    created_at: 1,
    updated_at: 3,
    metadata: { user_id: "u1" },
    entries: [
      operation("o1", "default", [{ role: "assistant", content: "Ready.", thinking: null, tool_calls: null }]),
      message(1, { role: "user", content: "Up?" }),
    ],
  },
  context: {
    id: "x",
    system_prompt: null,
    entries: [
      { role: "user", content: "Up?" },
      { role: "assistant", content: "Ready." },
    ],
  },
};

function operation(
  opId: string,
  lane: string,
  entries: readonly JsonObject[] | null,
  more: JsonObject = {},
): JsonObject {
  const result_context = { id: "x", system_prompt: null, entries };
  const body = { type: "replace", reason: "restore", result_context, ...more };
  const refs = { op_id: opId, context_ref: lane };
  return { id: `e_${opId}`, at: 2, kind: "ai_context_operation", refs, payload: { ...refs, operation: body } };
}

function message(seq: number, fields: JsonObject): JsonObject {
  const ids = { request_id: "r1", run_id: "r1" };
  const payload = { context_ref: "default", ...fields, ...ids };
  return { id: `e_${seq}`, seq, at: 3, kind: "ai_message", refs: ids, payload };
}

function shown(thread: Thread): readonly JsonObject[] {
  return project({ thread }).messages as unknown as readonly JsonObject[];
}

function threadOf(entries: readonly JsonObject[], context?: JsonObject): Thread {
  return Thread.fromJido({ thread: { id: "t", entries }, ...(context && { context }) }, ports);
}

const EXCHANGE = [
  message(0, { role: "user", content: "Weather?" }),
  message(1, {
    role: "assistant",
    content: "",
    tool_calls: [{ id: "c1", name: "weather", arguments: { city_name: "Bern" } }],
  }),
  message(2, { role: "tool", content: '{"ok":false,"error":{"type":"timeout"}}', tool_call_id: "c1", name: "weather" }),
  message(3, { role: "assistant", content: "No idea.", thinking: "Hm." }),
];

describe("Thread.fromJido", () => {
  test("keeps id, times, metadata and ids of entries", () => {
    const thread = Thread.fromJido(exported, ports);
    expect([thread.id, thread.createdAt, thread.updatedAt, thread.metadata]).toEqual([
      "thread_7",
      1,
      3,
      { user_id: "u1" },
    ]);
    expect(thread.toArray().map(({ id, at }) => [id, at])).toEqual([
      ["e_o1", 2],
      ["e_1", 3],
    ]);
    expect(shown(thread).map(({ content }) => content)).toEqual(["(continued)", "Ready.", "Up?"]);
  });

  test("reads a tool exchange of ai_messages, with arguments as they were, and marks the failed result", () => {
    const thread = threadOf(EXCHANGE);
    expect(shown(thread)).toMatchObject([
      { role: "user", content: "Weather?" },
      { role: "assistant", toolCalls: [{ id: "c1", name: "weather", arguments: { city_name: "Bern" } }] },
      { role: "tool", toolCallId: "c1", name: "weather", isError: true },
      { role: "assistant" },
    ]);
    expect(thread.at(1)?.refs).toEqual({ requestId: "r1", runId: "r1" });
  });

  test("a request of Jido is no request of ours: an agent that opens the thread resumes nothing", async () => {
    const thread = threadOf(EXCHANGE.slice(0, 3));
    expect(thread.toArray().filter(isAsk)).toEqual([]);
    const store = memoryStore();
    await store.save(thread);
    const server = await AgentServer.start({
      agent: defineAgent({ model: scriptedModel(["4"]) }),
      store,
      threadId: "t",
    });
    expect(server.request).toBeUndefined();
    expect((await (await server.ask("2+2?")).result).text).toBe("4");
    await server.stop();
  });

  test("entries of a context are newest first, and a replace makes its lane the active one", () => {
    const entries = [
      { role: "assistant", content: "two" },
      { role: "user", content: "one" },
    ];
    const thread = threadOf([
      operation("o1", "side", entries),
      { kind: "message", payload: { role: "user", content: "three" } },
    ]);
    expect(transcript(thread).at(-1)?.lane).toBe("side");
    expect(shown(thread).map(({ content }) => content)).toEqual(["one", "two", "three"]);
  });

  test("a replace covers the whole lane before it, whatever its base_seq says, and may be empty", () => {
    const ask = message(0, { role: "user", content: "one" });
    const after = message(2, { role: "user", content: "three" });
    const thread = threadOf([ask, operation("o1", "default", null, { base_seq: -1, meta: { from_seq: 0 } }), after]);
    expect(shown(thread).map(({ content }) => content)).toEqual(["three"]);
    expect(thread.at(1)?.payload).toMatchObject({ operation: { meta: { from_seq: 0 } } });
  });

  test("seqs of a summary follow the entries, also where the log of Jido has gaps or an entry became two", () => {
    const thread = threadOf([
      operation("o1", "side", []),
      message(4, { context_ref: "side", role: "user", content: "one" }),
      message(6, { context_ref: "side", role: "assistant", content: "two" }),
      { kind: "summary", seq: 7, payload: { from_seq: 4, to_seq: 6, content: "Counted." } },
      message(9, { context_ref: "side", role: "user", content: "three" }),
    ]);
    expect(thread.at(4)?.payload).toMatchObject({ fromSeq: 2, toSeq: 3 });
    expect(shown(thread).map(({ content }) => String(content).split("\n").at(-1))).toEqual(["Counted.", "three"]);
  });

  test("reads results in each form of ok and error", () => {
    const forms = [
      { ok: 1 },
      ["ok", 1],
      { error: "no" },
      ["error", "no"],
      { ok: true, result: 1 },
      { ok: false, error: "no" },
      { temp: 1 },
    ];
    const thread = threadOf(
      forms.map((result, index) => ({
        kind: "tool_result",
        payload: { tool_call_id: `c${index}`, name: "t", result },
      })),
    );
    const [good, bad] = [
      { ok: true, value: 1 },
      { ok: false, error: "no" },
    ];
    expect(thread.filterByKind("tool_result").map(({ payload }) => payload.result)).toEqual([
      good,
      good,
      bad,
      bad,
      good,
      bad,
      { temp: 1 },
    ]);
    expect(thread.at(0)?.payload).toHaveProperty("toolCallId", "c0");
  });

  test("reads parts", () => {
    const content = [
      { type: "text", text: "Look:", url: null },
      { type: "image_url", url: "https://heddle.dev/a.png" },
      { type: "image", data: "AAAA", media_type: "image/png", filename: "b.png" },
      { type: "file", file_id: "f1" },
    ];
    const [user] = shown(threadOf([message(0, { role: "user", content })]));
    expect(user?.["content"]).toMatchObject([
      { type: "text", text: "Look:" },
      { type: "file", data: { url: "https://heddle.dev/a.png" } },
      { type: "file", mediaType: "image/png", filename: "b.png", data: { base64: "AAAA" } },
      { type: "custom" },
    ]);
  });

  test("refs become scalars, names of the caller stay, and equal ids become unique", () => {
    const entry = { id: "e", kind: "note", refs: { signal_id: "s", my_ref: { a: 1 }, agent_id: null } };
    const thread = threadOf([entry, entry]);
    expect(thread.toArray().map(({ id }) => id)).toEqual(["e", "e_2"]);
    expect(thread.at(0)?.refs).toEqual({ signalId: "s", my_ref: '{"a":1}' });
  });

  test("a context that differs from the log is what the model is shown next", () => {
    const failed = [...EXCHANGE, message(4, { role: "user", content: "lost" })];
    const entries = [
      { role: "assistant", content: "No idea." },
      { role: "user", content: "Weather?" },
    ];
    const thread = threadOf(failed, { id: "x", system_prompt: "Be brief.", entries });
    expect(thread.rev).toBe(6);
    expect(shown(thread).map(({ content }) => content)).toEqual(["Be brief.", "Weather?", "No idea."]);
  });

  test("reads a context alone, with its prompt and the times of its entries", () => {
    const timestamp = "2026-01-01T00:00:00Z";
    const entries = [
      { role: "assistant", content: "4", timestamp },
      { role: "user", content: "2+2?", timestamp },
    ];
    for (const value of [
      { id: "x", system_prompt: "Be brief.", entries },
      { context: { id: "x", system_prompt: "Be brief.", entries } },
    ]) {
      const thread = Thread.fromJido(value, { ...ports, id: "t" });
      expect(shown(thread).map(({ content }) => content)).toEqual(["Be brief.", "2+2?", "4"]);
      expect(thread.updatedAt).toBe(1767225600000);
    }
  });

  test("the same export gives the same thread", async () => {
    const store = memoryStore();
    await store.save(Thread.fromJido(exported));
    await store.save(Thread.fromJido(exported));
    const thread = await store.load("thread_7");
    expect(thread && foldLane(thread, "default").items).toHaveLength(2);
  });

  test("an instruction keeps its fields", () => {
    const payload = { action: "add", instruction_id: "i1", param_keys: ["a"] };
    const thread = threadOf([{ kind: "instruction_start", payload }]);
    expect(thread.at(0)?.payload).toEqual({ action: "add", instructionId: "i1", paramKeys: ["a"] });
  });

  test("names the place of a value that is wrong", () => {
    const wrong = { thread: { entries: [{ kind: "ai_message", payload: { role: 4 } }] } };
    expect(() => Thread.fromJido(wrong)).toThrow("export.thread.entries[0].payload.role must be text");
  });
});

describe("append", () => {
  const refusal = (kind: string, payload: JsonObject) => () => Thread.create().append({ kind, payload });

  test("refuses a known kind in snake_case and names the key", () => {
    expect(refusal("ai_message", { role: "tool", tool_call_id: "c1", content: "4" })).toThrow(
      "entry.payload.tool_call_id is in snake_case; the key is toolCallId",
    );
    expect(refusal("summary", { from_seq: 0, to_seq: 1, content: "" })).toThrow("the key is fromSeq");
    expect(refusal("ai_context_operation", { op_id: "o", context_ref: "l" })).toThrow("the key is opId");
  });

  test("takes other keys, other kinds, and both spellings together", () => {
    expect(refusal("message", { role: "user", content: "hi", user_id: 1 })).not.toThrow();
    expect(refusal("note", { tool_call_id: "c1" })).not.toThrow();
    expect(refusal("tool_result", { toolCallId: "c1", tool_call_id: "c1", name: "t", result: 1 })).not.toThrow();
  });

  test("a store refuses the same, and saves a thread that has it already", async () => {
    const store = memoryStore();
    const entry = { kind: "tool_result", payload: { tool_call_id: "c1", name: "t", result: 1 } };
    await expect(store.append("t", entry)).rejects.toMatchObject({ code: "invalid_entry" });
    const many = Array.from({ length: 1001 }, () => entry);
    await expect(store.append("t", many)).rejects.toMatchObject({ code: "invalid_entry" });
    const old = { id: "e", seq: 0, at: 1, ...entry, refs: {} };
    const data = { format: "heddle.thread/1", id: "old", createdAt: 1, metadata: {}, entries: [old] };
    await store.save(Thread.fromJSON(data));
    expect((await store.load("old"))?.at(0)?.payload).toEqual(entry.payload);
  });
});
