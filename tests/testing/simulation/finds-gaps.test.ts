import { AgentServer, defineAgent, memoryStore } from "heddle";
import { LawViolation, scriptedModel, simulate } from "heddle/testing";
import { beforeEach, expect, test, vi } from "vitest";
import { EventLog } from "../../../src/runtime/request/request.ts";

/** A runtime that leaves out every second number: "seq is contiguous from 1" is broken at once. */
beforeEach(() => {
  const real =
    Object.getOwnPropertyDescriptor(EventLog.prototype, "lastSeq")?.get ?? expect.fail("lastSeq is a getter");
  vi.spyOn(EventLog.prototype, "lastSeq", "get").mockImplementation(function (this: EventLog) {
    return real.call(this) + 1;
  });
});

test("here numbers are left out", async () => {
  const server = await AgentServer.start({ agent: defineAgent({ model: scriptedModel(["4"]) }), store: memoryStore() });
  const seqs: number[] = [];
  for await (const { seq } of (await server.ask("What's 2+2?")).events()) seqs.push(seq);
  await server.stop();
  expect(seqs).toEqual(seqs.map((_, index) => 2 * index + 2));
});

test("a simulation finds gaps in the numbers of events", async () => {
  let broken: unknown;
  for (let seed = 0; seed < 30 && broken === undefined; seed++) {
    broken = await simulate({ seed }).then(
      () => undefined,
      (error: unknown) => error,
    );
  }
  expect(broken).toBeInstanceOf(LawViolation);
  expect((broken as LawViolation).law).toMatch(/without a gap/);
});
