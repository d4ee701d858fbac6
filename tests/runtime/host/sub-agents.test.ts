import { AgentServer, defineTool } from "heddle";
import { describe, expect, test } from "vitest";
import { agentOf, anything, house } from "./support/hosts.ts";

const REVIEW = { calls: [{ name: "review" }] } as const;

describe("a sub-agent that a tool asks with its abortSignal", () => {
  test.each(["host", "server"])("keeps its request when the lead is only suspended: asked on a %s", async (kind) => {
    const { host: make, end, settled, store, ports } = await house();
    const start = async () => {
      const agent = agentOf([{ hang: true }]);
      if (kind === "host") {
        const host = make({ agent });
        return {
          stop: () => host.stop({ graceMs: 0 }),
          ask: (signal: AbortSignal) => host.ask("sub", "x", { requestId: "r", signal }),
        };
      }
      const server = await AgentServer.start({ agent, store, ports, threadId: "sub" });
      return {
        stop: () => server.stop({ graceMs: 0 }),
        ask: (signal: AbortSignal) => server.ask("x", { requestId: "r", signal }),
      };
    };
    const sub = await end(start());
    const reasons: unknown[] = [];
    const review = defineTool({
      inputSchema: anything,
      execute: async (_: unknown, { abortSignal }) => {
        abortSignal.addEventListener("abort", () => reasons.push(abortSignal.reason?.code));
        return (await (await sub.ask(abortSignal)).result).text;
      },
    });
    const lead = make({ agent: agentOf([REVIEW], { tools: { review } }) });
    await end(lead.ask("lead", "Go."));
    await settled();
    await end(lead.stop({ graceMs: 0 }));
    await settled();
    expect(reasons).toEqual(["request_suspended"]);
    await end(sub.stop());
    const threads = (await store.list({ order: "id" })).threads;
    expect(threads.map(({ id, status }) => [id, status])).toEqual([
      ["lead", "running"],
      ["sub", "running"],
    ]);
  });

  test("is cancelled with the lead", async () => {
    const { host: make, end, settled, store } = await house();
    const sub = make({ agent: agentOf([{ hang: true }]) });
    const review = defineTool({
      inputSchema: anything,
      execute: async (_: unknown, { abortSignal }) =>
        (await (await sub.ask("sub", "x", { signal: abortSignal })).result).text,
    });
    const lead = make({ agent: agentOf([REVIEW], { tools: { review } }) });
    await end(lead.ask("lead", "Go."));
    await settled();
    await end((await end(lead.get("lead"))).cancel());
    await settled();
    expect((await store.list({ order: "id" })).threads.map(({ status }) => status)).toEqual(["cancelled", "cancelled"]);
    await end(Promise.all([lead.stop(), sub.stop()]));
  });
});
