import { type AgentConfig, defineAgent, memoryStore } from "heddle";
import { scriptedModel } from "heddle/testing";
import { expect, test } from "vitest";
import { settingLine } from "../../src/studio/setting-line.ts";
import { type Body, started } from "./support/client.ts";

const long = "wool and linen, ".repeat(60);
const policy = { maxInputTokens: 1500, reserveOutputTokens: 100, keepLastTurns: 1 };

/** Runs asks through a scripted agent and answers what is told of each call, oldest first. */
async function callsOf(
  config: Partial<AgentConfig>,
  asks: readonly (
    | string
    | { readonly content: string; readonly contextPolicy?: object; readonly allowedTools?: string[] }
  )[],
  answers: Parameters<typeof scriptedModel>[0],
) {
  const agent = defineAgent({ model: scriptedModel(answers), ...config });
  const { api } = await started({ store: memoryStore(), agent });
  const id = await api.newThread();
  for (const ask of asks) {
    const { content, ...more } = typeof ask === "string" ? { content: ask } : ask;
    await api.asked(id, content, more as never);
  }
  const { calls } = (await api.get(`/threads/${id}/calls`)).body;
  const details: Body[] = [];
  for (const { callId } of calls.toReversed()) details.push((await api.get(`/threads/${id}/calls/${callId}`)).body);
  expect(details.map(({ proven }) => proven)).not.toContain(false);
  return { api, id, details, last: details.at(-1)?.previous };
}

test("a window that moved", async () => {
  const asks = ["1", "2", "3", "4", "5", "6"].map((n) => `${n}: ${long}`);
  const { details } = await callsOf(
    { contextPolicy: policy, systemPrompt: "Be brief." },
    asks,
    asks.map(() => "Yes."),
  );
  const rules = details.map(({ previous }) => previous?.firstChange?.rule);
  expect(new Set(rules)).toEqual(new Set([undefined, "window_moved"]));
  const moved = details.find(({ previous }) => previous?.firstChange !== undefined).previous;
  expect(moved).toMatchObject({ stablePrefix: 1, firstChange: { index: 1 } });
  expect(moved.firstChange.why).toMatch(/^The window began with entry 0 and begins with \d+ to fit the budget\.$/);
});

test("other tools: what is cached before them is nothing", async () => {
  const inputSchema = { type: "object" } as const;
  const tools = { add: { inputSchema, execute: () => 1 }, sub: { inputSchema, execute: () => 1 } };
  const { last, details, api, id } = await callsOf(
    { tools },
    ["a", { content: "b", allowedTools: ["add"] }],
    ["1", "2"],
  );
  expect(last).toMatchObject({ stablePrefix: 0, firstChange: { index: 0, rule: "tools_changed" } });
  expect(last.firstChange.why).toContain("Removed tools: sub.");
  const [a, b] = details.map(({ call }) => call.callId);
  const diff = (await api.get(`/threads/${id}/diff?a=${a}&b=${b}`)).body;
  expect(diff.causes.map(({ rule }: Body) => rule)).toContain("tools_changed");
  expect(diff).toMatchObject({ same: 1 });
});

test("another system prompt is reported as one message that changed", async () => {
  let asked = 0;
  const systemPrompt = () => `It is minute ${asked++}.`;
  const { last, details, api, id } = await callsOf({ systemPrompt }, ["a", "b"], ["1", "2"]);
  expect(last).toMatchObject({ stablePrefix: 0, firstChange: { index: 0, rule: "system_changed" } });
  const [a, b] = details.map(({ call }) => call.callId);
  const { changes } = (await api.get(`/threads/${id}/diff?a=${a}&b=${b}`)).body;
  expect(changes.map(({ kind, a, b }: Body) => [kind, a, b])).toEqual([
    ["changed", 0, 0],
    ["same", 1, 1],
    ["added", undefined, 2],
    ["added", undefined, 3],
  ]);
});

test("results that were cleared, and results that were shortened", async () => {
  const tools = { read: { inputSchema: { type: "object" } as const, execute: () => long } };
  const call = { calls: [{ name: "read" }] };
  const cleared = await callsOf(
    {
      tools,
      contextPolicy: { keepLastTurns: 0, toolResults: { keepLast: 1, maxTokens: 0 }, window: { mode: "sliding" } },
    },
    ["a", "b"],
    [call, call, "done", call, "done"],
  );
  const rules = cleared.details.map(({ previous }) => previous?.firstChange?.rule);
  expect(rules).toContain("result_cleared");
  const shortened = await callsOf(
    { tools },
    ["a", { content: "b", contextPolicy: { toolResults: { keepLast: 0, maxTokens: 50 } } }],
    [call, "done", "done"],
  );
  expect(shortened.last).toMatchObject({ stablePrefix: 2, firstChange: { index: 2, rule: "result_shortened" } });
  expect(shortened.last.firstChange.why).toBe("Only head and tail are shown of entry 2.");
});

test("a context that was replaced, and a lane that was switched", async () => {
  const agent = defineAgent({ model: scriptedModel(["1", "2", "3"]) });
  const { api } = await started({ agent });
  const id = await api.newThread();
  const rule = async () => {
    const { calls } = (await api.get(`/threads/${id}/calls?limit=1`)).body;
    return (await api.get(`/threads/${id}/calls/${calls[0].callId}`)).body.previous?.firstChange?.rule;
  };
  await api.asked(id, "a");
  const resultContext = {
    id: "ctx",
    entries: [
      { role: "user", content: "other" },
      { role: "assistant", content: "ok" },
    ],
  };
  await api.post(`/threads/${id}/context`, { operation: { type: "replace", reason: "manual", resultContext } });
  await api.asked(id, "b");
  expect(await rule()).toBe("context_replaced");
  await api.post(`/threads/${id}/context`, { operation: { type: "switch", reason: "manual" }, contextRef: "side" });
  await api.asked(id, "c");
  expect(await rule()).toBe("lane_changed");
});

test("messages of a transformer are shown as they were sent, and marked as transformed", async () => {
  let calls = 0;
  const transformRequest: AgentConfig["transformRequest"] = ({ messages }) => {
    calls += 1;
    return calls === 1 ? {} : { messages: messages.map((m) => (m.role === "user" ? { ...m, content: "masked" } : m)) };
  };
  const { last, details } = await callsOf({ transformRequest }, ["secret", "more"], ["1", "2"]);
  expect(details[1]).toMatchObject({ transformed: true, proven: true });
  expect(details[1].messages.map(({ content }: Body) => content)).toEqual(["masked", "1", "masked"]);
  expect(details[1].provenance.length).toBe(3);
  expect(last.firstChange).toMatchObject({ index: 0, rule: "transformed" });
});

test("a call that failed is in the list, with why", async () => {
  const { api, id } = await callsOf({ modelMaxRetries: 0 }, ["a"], [{ error: { status: 400, message: "no" } }]);
  const { calls } = (await api.get(`/threads/${id}/calls`)).body;
  expect(calls).toMatchObject([{ error: { code: expect.stringMatching(/^model_/) } }]);
});

test("a call whose blobs are missing is reported as not proven", async () => {
  const source = await callsOf({}, ["a"], ["1"]);
  const { body } = await source.api.get(`/threads/${source.id}/export?format=json`);
  const { blobs: _left, ...bare } = JSON.parse(body);
  const { api } = await started();
  const { id } = (await api.post("/import", bare)).body;
  const { calls } = (await api.get(`/threads/${id}/calls`)).body;
  const path = `/threads/${id}/calls/${calls[0].callId}`;
  expect((await api.get(path)).body).toMatchObject({
    proven: false,
    messages: [],
    problem: { code: "call_blob_missing" },
  });
  expect((await api.get(`${path}/wire?provider=gemini`)).body.error.code).toBe("call_blob_missing");
});

test("a call has the settings that held for it, with the person who set them", async () => {
  const store = memoryStore();
  const agent = defineAgent({ model: scriptedModel(["1.", "2."]) });
  const { api } = await started({ store, agent });
  const id = await api.newThread();
  await api.asked(id, "a");
  const setting = { type: "system_prompt", value: "Be brief." };
  const { rev = 0 } = (await store.load(id)) ?? {};
  await store.append(id, {
    id: "set_1",
    kind: "ai_setting",
    payload: { opId: "1", by: "ann", reason: "shorter", setting },
    refs: { source: "console" },
  });
  await api.asked(id, "b");
  const { calls } = (await api.get(`/threads/${id}/calls`)).body;
  const [second, first] = await Promise.all(
    calls.map(async ({ callId }: Body) => (await api.get(`/threads/${id}/calls/${callId}`)).body),
  );
  expect(first.heldSettings).toEqual([]);
  expect(second).toMatchObject({ proven: true, heldSettings: [{ seq: rev, payload: { by: "ann" } }] });
  expect(second.previous.firstChange.rule).toBe("system_changed");
  expect(settingLine(second.heldSettings[0])).toBe('system prompt "Be brief." · by ann · from console · shorter');
  const { entries } = (await api.get(`/threads/${id}/entries?category=context`)).body;
  expect(entries.map(({ kind }: Body) => kind)).toContain("ai_setting");
});
