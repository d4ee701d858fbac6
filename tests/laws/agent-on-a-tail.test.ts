import fc from "fast-check";
import { memoryStore, ProjectionError, type Thread } from "heddle";
import { numberedPorts } from "heddle/testing";
import { expect, test } from "vitest";
import { cmd } from "../../src/agent/cmd.ts";
import { choices, type Move, play } from "../agent/support/play.ts";

test("an agent on the end of a thread does what it would do on all of it, or says how much more to load", async () => {
  const seen = { short: 0, enough: 0 };
  await fc.assert(
    fc.asyncProperty(choices, fc.integer({ min: 1, max: 12 }), async (given, last) => {
      const store = memoryStore();
      const { moves, agent } = play(given);
      if (agent.thread.rev === 0) return;
      await store.save(agent.thread);
      for (const move of moves.filter(({ directives }) => directives.some(({ type }) => type === "llm_stream"))) {
        const { rev } = move.before.thread;
        for (let rows = last; rev > 0; ) {
          const tail =
            (await store.load(agent.thread.id, { last: rows, upToSeq: rev - 1 })) ?? expect.fail("it was saved");
          const did = doneOn(move, tail);
          if (typeof did === "number") {
            expect(did).toBeLessThan(tail.firstSeq);
            seen.short++;
            rows = rev - did;
            continue;
          }
          expect(did).toEqual(doneOn(move, move.before.thread));
          seen.enough += tail.firstSeq > 0 ? 1 : 0;
          break;
        }
      }
    }),
    { numRuns: 40 },
  );
  expect(Math.min(seen.short, seen.enough)).toBeGreaterThan(10);
});

/** What is written and given, or the seq from which on more has to be loaded. */
function doneOn({ before, signal }: Move, thread: Thread): unknown {
  try {
    const { ids } = numberedPorts();
    // Entries that are there have numbers already.
    const ports = { clock: () => 0, ids: (prefix: string) => ids(`${prefix}_again`) };
    const { agent, directives } = cmd({ ...before, thread, ports }, signal);
    return [agent.state, agent.thread.slice(before.thread.rev, agent.thread.lastSeq), directives];
  } catch (error) {
    if (!ProjectionError.isInstance(error) || error.code !== "tail_too_short") throw error;
    return error.neededFromSeq;
  }
}
