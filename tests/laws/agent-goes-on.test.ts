import fc from "fast-check";
import { memoryStore, ProjectionError, type Thread } from "heddle";
import { expect, test } from "vitest";
import type { ReactAgent } from "../../src/agent/react/agent.ts";
import { restore } from "../../src/agent/react/restore.ts";
import { runFromAsk } from "../../src/agent/react/state.ts";
import { choices, goOn, play } from "../agent/support/play.ts";

const short = fc.array(fc.nat({ max: 10_000 }), { maxLength: 60, size: "max" });

test("wherever the log ends when a process dies, the next one brings the request to one end", () => {
  fc.assert(
    fc.property(short, (given) => {
      const { agent } = play(given);
      for (let seq = 0; seq <= agent.thread.lastSeq; seq++) {
        const thread = agent.thread.upTo(seq);
        const open = restore(agent.settings, thread).state.run;
        const later = goOn(agent.settings, thread).agent;
        expect(later.thread.slice(0, seq)).toEqual(thread.toArray());
        if (open === undefined) expect(later.thread.rev).toBe(thread.rev);
        else expect(endsOf(later.thread, open.requestId)).toBe(1);
      }
    }),
    { numRuns: 60 },
  );
});

test("a tail that holds the last ask restores the same request, and a shorter one says that it is too short", async () => {
  await fc.assert(
    fc.asyncProperty(choices, async (given) => {
      const { agent } = play(given);
      const store = memoryStore();
      if (agent.thread.rev === 0) return;
      await store.save(agent.thread);
      const askSeq = agent.thread.toArray().findLast((entry) => runFromAsk(entry) !== undefined)?.seq ?? 0;
      for (const last of new Set([1, 2, 3, agent.thread.rev - askSeq, agent.thread.rev])) {
        const tail = (await store.load(agent.thread.id, { last })) ?? expect.fail("it was saved");
        expect(restored(agent, tail)).toEqual(
          tail.firstSeq > askSeq ? "tail_too_short" : restore(agent.settings, agent.thread).state.last,
        );
      }
      const tail = (await store.load(agent.thread.id, { last: 1 })) ?? expect.fail("it was saved");
      if (tail.firstSeq > askSeq) expect(neededFor(agent, tail, askSeq)).toBe(askSeq);
      await store.close();
    }),
    { numRuns: 60 },
  );
});

function restored({ settings }: ReactAgent, tail: Thread): unknown {
  try {
    return restore(settings, tail).state.last;
  } catch (error) {
    if (!ProjectionError.isInstance(error)) throw error;
    expect(error.neededFromSeq).toBeLessThan(tail.firstSeq);
    return error.code;
  }
}

/** With what a store can tell of the last ask, what is missing is known at once. */
function neededFor({ settings, ports }: ReactAgent, tail: Thread, lastAskSeq: number): unknown {
  expect(restore(settings, tail, ports, { lastAskSeq: -1 }).state.run).toBeUndefined();
  try {
    return restore(settings, tail, ports, { lastAskSeq });
  } catch (error) {
    return ProjectionError.isInstance(error) ? error.neededFromSeq : error;
  }
}

function endsOf(thread: Thread, requestId: string): number {
  return thread.filterByRef("requestId", requestId).filter(({ payload }) => "end" in payload).length;
}
