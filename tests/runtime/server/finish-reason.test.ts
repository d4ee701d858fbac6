import { expect, test } from "vitest";
import { anything, eventsOf, stage } from "../support/stage.ts";

const look = { inputSchema: anything, execute: () => "seen" };

test.each(["stop", "length", "content-filter"] as const)(
  "a final answer says how its call ended: %s",
  async (finishReason) => {
    const on = await stage();
    const server = await on.start({ script: [{ text: "I cannot", finishReason }] });
    const request = await on.end(server.ask("Go."));
    expect(await on.end(request.result)).toMatchObject({
      text: "I cannot",
      terminationReason: "final_answer",
      finishReason,
    });
    const events = await eventsOf(request);
    expect(events.at(-1)).toMatchObject({ kind: "request_completed", data: { finishReason } });
  },
);

test("it is that of the last call", async () => {
  const on = await stage();
  const server = await on.start({
    script: [{ text: "Looking.", calls: [{ name: "look" }] }, "Done."],
    tools: { look },
  });
  const request = await on.end(server.ask("Go."));
  expect((await on.end(request.result)).finishReason).toBe("stop");
  const last = await on.start(
    { script: [{ calls: [{ name: "look" }] }], tools: { look }, maxIterations: 1 },
    { threadId: "thread_2" },
  );
  const cut = await on.end(last.ask("Go."));
  expect(await on.end(cut.result)).toMatchObject({ terminationReason: "max_iterations", finishReason: "tool-calls" });
});
