import { expect, test } from "vitest";
import { childrenOf, logOf, resultsIn, threeChildren } from "./support/family.ts";
import { killedAsk } from "./support/killed-ask.ts";

const ANSWERS = ["The sun is far.", "The moon is far.", "The star is far."];

/** Plays a parent with three children in a process that is killed at a write. Answers the number of writes. */
async function played(n: number, when: "before" | "after"): Promise<number> {
  const {
    host: make,
    end,
    store,
    writes,
  } = await killedAsk(n, when, { agent: threeChildren() }, { content: "Go.", requestId: "req_1" });
  const second = make({ agent: threeChildren() });
  second.work();
  const again = await end(second.ask("thread_1", "Go.", { requestId: "req_1" })); // the same request
  const { text, usage } = await end(again.result);
  const where = `killed ${when} write ${n}`;
  expect(text, where).toBe("sun moon star");
  expect(usage, where).toMatchObject({ inputTokens: 50, outputTokens: 25 });
  const log = await logOf(store, "thread_1");
  expect(
    resultsIn(log)
      .map(([, content]) => content)
      .toSorted(),
    where,
  ).toEqual(ANSWERS.toSorted());
  const children = await childrenOf(store);
  expect(children, where).toHaveLength(3);
  const listed = (await store.list({ parent: "thread_1", order: "id" })).threads;
  expect(
    listed.map(({ id }) => id),
    where,
  ).toEqual(children);
  for (const child of children) {
    const entries = await logOf(store, child);
    const ends = entries.filter(({ payload }) => "end" in payload);
    expect([entries.filter(({ payload }) => "agent" in payload).length, ends.length], where).toEqual([1, 1]);
    expect(await store.outcome("thread_1", `answer_${child}`), where).toMatchObject({ status: "delivered" });
    expect(await store.pending(child), where).toEqual([]);
  }
  expect(await store.pending("thread_1"), where).toEqual([]);
  await end(second.stop());
  return writes;
}

test("killed at every write of a parent with three children, the parent reads each answer exactly once", async () => {
  const writes = await played(Number.POSITIVE_INFINITY, "before");
  expect(writes).toBeGreaterThan(20);
  for (let n = 1; n <= writes; n++) for (const when of ["before", "after"] as const) await played(n, when);
});
