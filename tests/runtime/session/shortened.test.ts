import { memoryStore, systemRuntimePorts, type Thread } from "heddle";
import { reactSettings, restore } from "heddle/core";
import { describe, expect, test } from "vitest";
import { shortened } from "../../../src/runtime/session/load.ts";

const ports = systemRuntimePorts;
const settings = reactSettings({ systemPrompt: "Be brief." });

/** A thread of so many words, whose last call was shown the last `shown` of them. */
async function live(entries: number, shown: number) {
  const store = memoryStore();
  const words = Array.from({ length: entries - 1 }, (_, index) => ({
    kind: "message",
    payload: { role: index % 2 === 0 ? "user" : "assistant", content: `Word ${index}.` },
  }));
  const call = { view: { startSeq: entries - shown } };
  await store.append("thread_t", [
    ...words,
    { kind: "message", payload: { role: "assistant", content: "End.", call } },
  ]);
  const thread = (await store.load("thread_t")) as Thread;
  return { store, agent: restore(settings, thread, ports) };
}

describe("a live thread, between two requests", () => {
  test.each([
    [700, 20, 700],
    [800, 20, 384],
    [4_000, 20, 384],
    [4_000, 1_000, 1_500],
    [4_000, 3_000, 4_000],
  ])("of %i entries, %i of them shown, keeps %i", async (entries, shown, kept) => {
    const { store, agent } = await live(entries, shown);
    const { thread } = await shortened(store, agent);
    expect([thread.rev, thread.rev - thread.firstSeq]).toEqual([entries, kept]);
  });

  test.each([
    ["much larger than its view keeps the view", 12, 2_000_000, 2, 3],
    ["whose view is most of it stays", 12, 2_000_000, 8, 12],
    ["of a few MB stays", 12, 200_000, 2, 12],
  ])("%s, where entries are large", async (_what, entries, chars, shown, kept) => {
    const store = memoryStore();
    const call = { view: { startSeq: entries - shown } };
    await store.append("thread_t", {
      kind: "ai_message",
      payload: { role: "user", content: "Go." },
      refs: { requestId: "r1", runId: "run_1" },
    });
    for (let index = 1; index < entries - 1; index++) {
      const payload = { role: "tool", toolCallId: `c${index}`, content: "A table.", details: ["x".repeat(chars)] };
      await store.append("thread_t", { kind: "ai_message", payload });
    }
    await store.append("thread_t", { kind: "ai_message", payload: { role: "assistant", content: "End.", call } });
    const thread = (await store.load("thread_t")) as Thread;
    const agent = restore(settings, thread, ports);
    const run = { askSeq: 0 } as never; // the only field that is read
    const after = await shortened(store, { ...agent, state: { ...agent.state, last: { run } as never } });
    expect(after.thread.rev - after.thread.firstSeq).toBe(kept);
  });
});
