import { AgentHost, type AnyAgent, defineAgent, memoryStore, react } from "heddle";
import { scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { CALL, cast, stoppedAt } from "../standalone/support/runs.ts";
import { anything, failureOf, proveAll, type Stage, stage } from "../support/stage.ts";

const find = { inputSchema: anything, repeatable: true, execute: () => "found" };
const calling = { calls: [{ name: "find" }], delayMs: 10 };

/** A request with a tool of its own, whose process has died in the middle. */
async function left(): Promise<Stage> {
  const on = await stage();
  const first = await on.start({ script: [{ hang: true }] });
  await on.end(first.ask("Find it.", { tools: { find }, refs: { agentId: "finder" } }));
  await on.end(first.stop({ graceMs: 0 }));
  return on;
}

describe("the tools of a request that is resumed after a restart", () => {
  test("are made again by the process that starts it, from the refs of the request", async () => {
    const on = await left();
    const asked: unknown[] = [];
    const tools = async (threadId: string, { agentId }: { readonly agentId?: string }) => {
      asked.push([threadId, agentId]);
      return { find };
    };
    const again = await on.start(
      { script: [calling, { expect: { endsWith: [{ results: [{ value: "found" }] }] }, text: "There." }] },
      { tools },
    );
    expect((await on.end(again.request?.result ?? Promise.reject(new Error("not taken up")))).text).toBe("There.");
    expect(asked).toEqual([["thread_t", "finder"]]);
    await on.end((await on.end(again.ask("Again."))).result.catch(() => undefined));
    expect(await on.end(failureOf(again.ask("Again.", { allowedTools: ["find"] })))).toMatchObject({
      code: "unknown_tool",
    });
    await proveAll(on.store, on.threadId);
  });

  test("are not there otherwise, and the request fails", async () => {
    const on = await left();
    await on.start({ script: [] });
    await on.settled();
    expect((await on.log()).at(-1)?.payload).toMatchObject({ code: "options_lost", end: { status: "failed" } });
  });

  test("on a host, and of a token", async () => {
    const on = await left();
    const agent = defineAgent({ model: scriptedModel([calling, "There."], { after: on.ports.after }) }) as AnyAgent;
    const host = AgentHost.create({ agent, store: on.store, ports: on.ports, tools: () => ({ find }) });
    const request = await on.end(host.resume(on.threadId));
    expect((await on.end(request?.result ?? Promise.reject(new Error("not taken up")))).text).toBe("There.");
    await on.end(host.stop());
    const store = memoryStore();
    const tools = { add: { inputSchema: anything, execute: () => "4" } };
    const token = await stoppedAt("after_llm", cast([CALL], {}).agent, { store, tools } as never);
    const result = await react.collect(token, cast(["It is 4."]).agent, { store, tools });
    expect(result.text).toBe("It is 4.");
    expect(result.thread.filterByRef("toolCallId", "call_a").at(-1)?.payload).toMatchObject({ content: "4" });
  });
});
