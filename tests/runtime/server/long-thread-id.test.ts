import { memoryStore, react } from "heddle";
import { expect, test } from "vitest";
import { adder, CALL, cast, stoppedAt } from "../standalone/support/runs.ts";
import { anything, gate, stage } from "../support/stage.ts";

const LONGEST = "t".repeat(256);

test.each([LONGEST, "ü".repeat(256)])(
  "a thread whose id is as long as can be keeps an operation that waits",
  async (threadId) => {
    const on = await stage();
    const seen = gate<string>();
    const script = [{ calls: [{ name: "look" }] }, "Seen."];
    const tools = { look: { inputSchema: anything, execute: () => seen.promise } };
    const server = await on.start({ script, tools }, { threadId });
    await on.end(server.ask("Look."));
    await on.settled();
    expect((await on.end(server.reset())).status).toBe("deferred");
    await on.end(server.stop({ graceMs: 0 }));
    const again = await on.start({ script: ["Seen."], tools }, { threadId });
    await on.pass(10);
    await on.end(again.stop());
    const kinds = (await on.store.load(threadId))?.toArray().map(({ kind }) => kind);
    expect(kinds?.at(-1)).toBe("ai_context_operation");
  },
);

test("a run on such a thread can stop at a checkpoint, and resumes after it", async () => {
  const store = memoryStore();
  const { tools, ran } = adder();
  const token = await stoppedAt("after_llm", cast([CALL], { tools }).agent, { store, threadId: LONGEST });
  const { text } = await react.collect(token, cast(["It is 4."], { tools }).agent, { store });
  expect([text, ran]).toEqual(["It is 4.", ["call_a"]]);
});
