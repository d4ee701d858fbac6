import { CallError, heuristic, loadExactCounter, memoryStore, rebuildCall, type TokenCounter } from "heddle";
import { recordedCall } from "heddle/core";
import { scriptedModel } from "heddle/testing";
import { expect, test } from "vitest";
import { proveAll, stage } from "../support/stage.ts";

const codeOf = async (promise: Promise<unknown>) => {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(Error);
  return (error as { code?: string }).code;
};

async function asked(config: object = {}, asks: readonly string[] = ["Hi?"]) {
  const on = await stage();
  const server = await on.start({ script: asks.map(() => "Ok."), ...config });
  const ids: string[] = [];
  for (const text of asks) {
    const { calls } = await on.end((await on.end(server.ask(text))).result);
    ids.push(...calls.map(({ callId }) => callId));
  }
  return { on, ids, server };
}

test("a call is rebuilt with its messages, tools and settings, frozen and proven", async () => {
  const tools = { look: { description: "Looks.", inputSchema: { type: "object" as const }, execute: () => "seen" } };
  const { on, ids } = await asked({ tools, systemPrompt: "Be brief.", temperature: 0.5 }, ["One?", "Two?"]);
  const rebuilt = await rebuildCall(on.store, on.threadId, ids[1] ?? "");
  expect(rebuilt).toMatchObject({
    callId: ids[1],
    messages: [
      { role: "system", content: "Be brief." },
      { role: "user", content: "One?" },
      { role: "assistant", content: "Ok." },
      { role: "user", content: "Two?" },
    ],
    toolSpec: [{ name: "look" }],
    settings: { temperature: 0.5 },
    proven: true,
  });
  expect(rebuilt.record.fingerprint).toBe(rebuilt.fingerprint);
});

test("of a long thread only a window is read", async () => {
  const on = await stage();
  const entries = Array.from({ length: 3_000 }, (_, index) => ({
    kind: "message",
    payload: { role: index % 2 === 0 ? "user" : "assistant", content: `Word ${index}.` },
  }));
  await on.store.append(on.threadId, entries);
  const server = await on.start({
    script: ["Ok.", "Ok."],
    contextPolicy: { maxInputTokens: 3_000, reserveOutputTokens: 500 },
  });
  for (const text of ["One?", "Two?"]) await on.end((await on.end(server.ask(text))).result);
  expect(await proveAll(on.store, on.threadId)).toBe(2);
});

test("an error names the thread, the call or the blob that is missing", async () => {
  const { on, ids } = await asked();
  expect(await codeOf(rebuildCall(on.store, "thread_x", "call_x"))).toBe("thread_not_found");
  expect(await codeOf(rebuildCall(on.store, on.threadId, "call_x"))).toBe("call_not_found");
  const elsewhere = memoryStore();
  const thread = await on.store.load(on.threadId);
  if (thread !== undefined) await elsewhere.save(thread);
  const error = await rebuildCall(elsewhere, on.threadId, ids[0] ?? "").catch((reason: unknown) => reason);
  expect(CallError.isInstance(error) && error.code).toBe("call_blob_missing");
});

test("a counter of your own has to be brought again", async () => {
  const own: TokenCounter = { id: "own", version: "1", count: (text) => heuristic.count(text) } as TokenCounter;
  const { on, ids } = await asked({ tokenCounter: own, contextPolicy: { tokenEstimator: "exact" } });
  expect(await codeOf(rebuildCall(on.store, on.threadId, ids[0] ?? ""))).toBe("counter_missing");
  expect((await rebuildCall(on.store, on.threadId, ids[0] ?? "", { tokenCounter: own })).proven).toBe(true);
});

test("an exact counter too; a calibrated one is known from the log", async () => {
  const model = (script: readonly string[]) => scriptedModel(script, { provider: "openai", modelId: "gpt-4o" });
  const tokenCounter = await loadExactCounter("openai:gpt-4o"); // loaded by now: virtual time does not wait for a module
  const exact = await asked({ model: model(["Ok."]), contextPolicy: { tokenEstimator: "exact" } });
  expect((await rebuildCall(exact.on.store, exact.on.threadId, exact.ids[0] ?? "", { tokenCounter })).proven).toBe(
    true,
  );
  const texts = ["One?", "Two?", "Three?"];
  const calibrated = await asked({ contextPolicy: { tokenEstimator: "calibrated" } }, texts);
  expect(await proveAll(calibrated.on.store, calibrated.on.threadId)).toBe(3);
});

test("a call with a file does not teach the counter of texts, and is proven too", async () => {
  const usage = (inputTokens: number) => ({ text: "Ok.", usage: { inputTokens, outputTokens: 2 } });
  const script = [usage(12), usage(50_000), usage(50_000)];
  const { on, server } = await asked({ script, contextPolicy: { tokenEstimator: "calibrated" } }, ["One?"]);
  const factors = async () => (await server.thread()).toArray().flatMap((entry) => recordedCall(entry) ?? []);
  const data = { base64: "JVBERi0=" };
  const file = { type: "file", mediaType: "application/pdf", data } as const;
  for (const content of [[{ type: "text", text: "Two?" } as const, file], "Three?"])
    await on.end((await on.end(server.ask(content))).result);
  const [first, second, third] = await factors();
  expect([first?.fileTokens, second?.fileTokens, third?.fileTokens]).toEqual([undefined, 10_000, 10_000]);
  expect(second?.calibration).toBeCloseTo(12 / (first?.estimatedTokens ?? 0), 3);
  expect(third?.calibration).toBe(second?.calibration);
  expect(await proveAll(on.store, on.threadId)).toBe(3);
});

test("a call that comes out otherwise is not proven", async () => {
  const { on, ids } = await asked();
  const log = await on.log();
  const changed = log.map(({ seq: _seq, ...entry }) =>
    entry.payload["content"] === "Hi?" ? { ...entry, payload: { ...entry.payload, content: "Ho?" } } : entry,
  );
  await on.store.append("thread_changed", changed as never);
  expect(await codeOf(rebuildCall(on.store, "thread_changed", ids[0] ?? ""))).toBe("call_not_proven");
});
