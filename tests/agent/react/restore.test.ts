import { memoryStore } from "heddle";
import { askSignal, modelTextSignal, specify, user } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { restore } from "../../../src/agent/react/restore.ts";
import type { EntryInput } from "../../../src/thread/entry.ts";
import { CALCULATOR } from "../support/calculator.ts";

const { agent } = specify(CALCULATOR)
  .given([askSignal("What's 2+2?")])
  .when(modelTextSignal("call_1", "4"));
const answered: readonly EntryInput[] = agent.thread.toArray().map(({ seq: _, ...entry }) => entry);
const more: readonly EntryInput[] = Array.from({ length: 40 }, (_, n) => user(`Message ${n}`));

async function tailOf(entries: readonly EntryInput[], last: number) {
  const store = memoryStore();
  await store.append("t", entries);
  return (await store.load("t", { last })) ?? expect.fail("it was saved");
}

describe("an agent on the last entries of a thread", () => {
  test("needs the ask of the last request, where it is known", async () => {
    const tail = await tailOf([...answered, ...more], 10);
    expect(() => restore(agent.settings, tail, agent.ports, { lastAskSeq: 0 })).toThrow(
      expect.objectContaining({ code: "tail_too_short", neededFromSeq: 0, message: expect.stringContaining("seq 0") }),
    );
  });

  test("needs twice as many entries and a few, where it is not known", async () => {
    const tail = await tailOf([...answered, ...more], 10);
    expect(tail.firstSeq).toBe(32);
    expect(() => restore(agent.settings, tail)).toThrow(
      expect.objectContaining({ code: "tail_too_short", neededFromSeq: 4 }),
    );
  });

  test("needs no more where there is no request, or all is loaded", async () => {
    expect(restore(agent.settings, await tailOf(more, 10), agent.ports, { lastAskSeq: -1 }).state.run).toBeUndefined();
    expect(restore(agent.settings, await tailOf(more, 40)).state.run).toBeUndefined();
    expect(restore(agent.settings, await tailOf([...answered, ...more], 42)).state).toEqual(
      restore(agent.settings, agent.thread.append(more)).state,
    );
  });

  test("needs all entries where a malformed context operation is not loaded", async () => {
    const operation = { type: "replace", baseSeq: -2, resultContext: { id: "c", entries: [] }, reason: "manual" };
    const malformed = { kind: "ai_context_operation", payload: { opId: "o", contextRef: "default", operation } };
    const tail = await tailOf([malformed, ...more, ...answered], 10);
    expect(tail.base?.malformed).toBe(true);
    expect(() => restore(agent.settings, tail)).toThrow(
      expect.objectContaining({ code: "tail_too_short", neededFromSeq: 0 }),
    );
  });
});
