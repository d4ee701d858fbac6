import { sqliteStore } from "heddle/sqlite";
import { expect, test } from "vitest";
import { fastFile } from "../../support/temp-folder.ts";
import { anything, eventsOf, expectWhole, proveAll, stage, told } from "../support/stage.ts";

test("a request that waits resumes in a process that opens the file again, and its tool runs once", async () => {
  const path = fastFile();
  let paid = 0;
  const pay = { inputSchema: anything, needsApproval: true, execute: () => `paid ${++paid}` };
  const before = await stage({ store: sqliteStore(path) });
  const first = await before.start({ script: [{ calls: [{ name: "pay" }] }], tools: { pay } });
  await before.end(eventsOf(await before.end(first.ask("Pay.")), { until: "waiting" }));
  const op = await before.end(first.reset());
  expect(op.status).toBe("deferred");
  await before.end(first.stop());
  await before.store.close();

  const after = await stage({ store: sqliteStore(path) });
  const second = await after.start({ script: [{ text: "Paid.", delayMs: 5 }], tools: { pay } });
  const { request } = second;
  if (request === undefined) throw new Error("nothing was taken up");
  expect(request.state).toBe("waiting");
  await after.end(second.approve("call_1"));
  expect((await after.end(request.result)).text).toBe("Paid.");
  const events = await eventsOf(request);
  expectWhole(events, events[0]?.seq);
  await after.end(second.stop());
  expect(paid).toBe(1);
  expect(told(await after.log()).at(-1)).toBe("ai_context_operation");
  expect(await proveAll(after.store, after.threadId)).toBe(2);
  await after.store.close();
});

test("a long thread is started with its end, and projects a window of it", async () => {
  const store = sqliteStore(fastFile());
  const on = await stage({ store });
  const words = Array.from({ length: 5_000 }, (_, index) => ({
    kind: "message",
    payload: { role: index % 2 === 0 ? "user" : "assistant", content: `Word ${index}. ${"and so on ".repeat(10)}` },
  }));
  await store.append(on.threadId, words);
  const contextPolicy = { maxInputTokens: 4_000, reserveOutputTokens: 500 };
  const first = await on.start({ script: ["One."], contextPolicy });
  await on.end((await on.end(first.ask("One?"))).result);
  await on.end(first.stop());
  const second = await on.start({ script: ["Two."], contextPolicy });
  await on.end((await on.end(second.ask("Two?"))).result);
  const { rev, firstSeq } = await second.thread();
  expect(rev).toBe(5_004);
  expect(firstSeq).toBeGreaterThan(4_700);
  expect((await second.explain()).length).toBeLessThan(300);
  expect(await proveAll(store, on.threadId)).toBe(2);
  await on.end(second.stop());
  await store.close();
});

test("settings far before the end of a file hold when it is opened again, in the lane that is active", async () => {
  const path = fastFile();
  const before = await stage({ store: sqliteStore(path) });
  const first = await before.start();
  await before.end(first.setSystemPrompt("Be A."));
  await before.end(first.setSystemPrompt("Be old."));
  await before.end(first.setSystemPrompt("Be B."));
  await before.end(first.unregisterTool("pay"));
  await before.end(first.modifyContext({ contextRef: "side", operation: { type: "switch", reason: "manual" } }));
  await before.end(first.stop());
  const words = Array.from({ length: 1_000 }, (_, index) => ({
    kind: "message",
    payload: { role: index % 2 === 0 ? "user" : "assistant", content: `Word ${index}. ${"and so on ".repeat(10)}` },
  }));
  await before.store.append(before.threadId, words);
  await before.store.close();

  const after = await stage({ store: sqliteStore(path) });
  const contextPolicy = { maxInputTokens: 4_000, reserveOutputTokens: 500 };
  const pay = { inputSchema: anything, execute: () => "paid" };
  const script = [{ expect: { system: "Be B.", tools: [] }, text: "One." }];
  const second = await after.start({ script, contextPolicy, tools: { pay } });
  expect((await second.thread()).firstSeq).toBeGreaterThan(100);
  expect((await second.thread()).base?.settings?.map(({ seq }) => seq)).toEqual([2, 3]);
  expect((await after.end((await after.end(second.ask("One?"))).result)).text).toBe("One.");
  expect(await proveAll(after.store, after.threadId)).toBe(1);
  await after.end(second.stop());
  expect((await after.store.verify(after.threadId)).ok).toBe(true);
  await after.store.close();
});
