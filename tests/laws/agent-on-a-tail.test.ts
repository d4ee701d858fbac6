import fc from "fast-check";
import { memoryStore, ProjectionError, type Thread } from "heddle";
import { numberedPorts } from "heddle/testing";
import { expect, test } from "vitest";
import { cmd } from "../../src/agent/cmd.ts";
import { choices, type Move, play } from "../agent/support/play.ts";
import { expectOften } from "../support/case-budget.ts";

test("an agent on the end of a thread does what it would do on all of it, or says how much more to load", async () => {
  const seen = { cases: 0, short: 0, enough: 0 };
  await fc.assert(
    fc.asyncProperty(choices, fc.integer({ min: 1, max: 12 }), async (given, last) => {
      seen.cases++;
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
    {
      numRuns: 40,
      examples: [
        [FAILED_SUMMARY_BEFORE_A_REPLACE, 4],
        [CUT_BEHIND_AN_OLD_SUMMARY, 1],
      ],
    },
  );
  expectOften(Math.min(seen.short, seen.enough), seen.cases, 1 / 4);
});

/** Two summaries fail, then the context of the lane is replaced: the tail after it does not hold the failures. */
const FAILED_SUMMARY_BEFORE_A_REPLACE = [
  0, 0, 0, 0, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 21, 0, 0, 0, 6475, 0, 0, 0, 0, 1356, 0, 0,
  6760, 0, 7718, 0, 153, 650, 5914, 0, 0, 0, 0, 0, 0, 105,
];

/** A tool result exceeds the budget, and the summary that the cut starts after is the last entry that is not loaded. */
const CUT_BEHIND_AN_OLD_SUMMARY = [
  7561, 1290, 4818, 0, 0, 6, 0, 1, 0, 0, 4542, 0, 1199, 0, 0, 0, 1762, 0, 0, 0, 0, 0, 4291, 0, 0, 2864, 0, 0, 61, 61, 0,
  0, 1, 321, 0, 0, 0, 0, 0, 4658, 0, 1393, 0, 0, 7, 9, 5, 0, 0, 3582, 0, 0, 0, 0, 0, 0,
];

/** The state, entries and directives of a move, or the first seq that has to be loaded for it. */
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
