import { AgentServer, defineAgent, memoryStore } from "heddle";
import { LawBroken, scriptedModel, simulate } from "heddle/testing";
import { expect, test, vi } from "vitest";

/** A runtime that leaves out every second number: "seq is contiguous from 1" is broken at once. */
vi.mock("../../../src/runtime/request/event-log.ts", async (original) => {
  const { EventLog } = await original<typeof import("../../../src/runtime/request/event-log.ts")>();
  class Gaps extends EventLog {
    override get lastSeq(): number {
      return super.lastSeq + 1;
    }
  }
  return { EventLog: Gaps };
});

test("here numbers are left out", async () => {
  const server = await AgentServer.start({ agent: defineAgent({ model: scriptedModel(["4"]) }), store: memoryStore() });
  const seqs: number[] = [];
  for await (const { seq } of (await server.ask("What's 2+2?")).events()) seqs.push(seq);
  await server.stop();
  expect(seqs).toEqual(seqs.map((_, index) => 2 * index + 2));
});

test("a world finds it when the numbers of events have gaps", async () => {
  let broken: unknown;
  for (let seed = 0; seed < 30 && broken === undefined; seed++) {
    broken = await simulate({ seed }).then(
      () => undefined,
      (error: unknown) => error,
    );
  }
  expect(broken).toBeInstanceOf(LawBroken);
  expect((broken as LawBroken).law).toMatch(/without a gap/);
});
