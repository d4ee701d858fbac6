import { AgentHost, type AskOptions } from "heddle";
import { describe, expect, test } from "vitest";
import { agentOf, house } from "../host/support/hosts.ts";
import { anything, failureOf, proveAll, type Stage, stage } from "../support/stage.ts";

const context = { user: "ann" } as never;
const look = { inputSchema: anything, execute: () => "seen" };
const pay = { inputSchema: anything, needsApproval: true, execute: () => "paid" };

const kinds: readonly (readonly [string, object, object, object])[] = [
  ["a context", { context }, { context: () => context }, { context: () => undefined }],
  ["tools", { tools: { look } }, { tools: () => ({ look }) }, { tools: () => ({ other: look }) }],
];

/** A request whose process ends while the model is at work. */
async function interrupted(on: Stage, options: object): Promise<string> {
  const first = await on.start({ script: [{ hang: true }], tools: { pay } });
  const { id } = await on.end(first.ask("Go.", options as AskOptions<never>));
  await on.settled();
  await on.end(first.stop({ graceMs: 0 }));
  return id;
}

describe.each(kinds)("a request that was asked with %s", (_, asked, supply, other) => {
  test.each([
    ["no function", {}],
    ["a function that does not supply it", other],
  ])("fails as options_lost in a process with %s", async (_what, given) => {
    const on = await stage();
    const id = await interrupted(on, asked);
    const second = await on.start({ script: ["Here."], tools: { pay } }, given);
    const error = await failureOf(on.end(second.result(id)));
    expect(error).toMatchObject({ code: "request_failed", failure: { code: "options_lost" } });
    expect((await on.log()).at(-1)?.payload).toMatchObject({ code: "options_lost", end: { status: "failed" } });
    expect((await on.end((await on.end(second.ask("Again."))).result)).text).toBe("Here.");
  });

  test("continues where the functions supply it", async () => {
    const on = await stage();
    const id = await interrupted(on, asked);
    const second = await on.start({ script: ["Done."], tools: { pay } }, supply);
    expect((await on.end(second.result(id))).text).toBe("Done.");
    await proveAll(on.store, on.threadId);
  });

  test("waits for its approval without them, and then fails and runs nothing", async () => {
    const on = await stage();
    const ran: string[] = [];
    const tools = { pay: { ...pay, execute: () => ran.push("pay") } };
    const first = await on.start({ script: [{ calls: [{ name: "pay" }] }], tools });
    const { id } = await on.end(first.ask("Pay.", asked as AskOptions<never>));
    await on.settled();
    await on.end(first.stop());
    const second = await on.start({ script: [], tools });
    await on.settled();
    expect(second.request?.state).toBe("waiting");
    await on.end(second.approve("call_1"));
    expect((await failureOf(on.end(second.result(id)))).failure?.code).toBe("options_lost");
    expect(ran).toEqual([]);
    const result = (await on.log()).find(({ payload }) => "role" in payload && payload["role"] === "tool");
    expect(result?.payload).toMatchObject({ isError: true, content: expect.stringContaining("did not run") });
    expect((await on.log()).filter(({ payload }) => "end" in payload)).toHaveLength(1);
  });
});

test("a log that does not name the tools of its ask continues", async () => {
  const on = await stage();
  const lane = { contextRef: "default" };
  const [requestId, runId] = ["req_1", "run_1"];
  const payload = { ...lane, role: "user", content: "Go.", agent: "agent", requestId, runId };
  await on.store.append(on.threadId, { kind: "ai_message", payload, refs: { requestId, runId } });
  const server = await on.start({ name: "agent", script: ["Done."] });
  expect((await on.end(server.result(requestId))).text).toBe("Done.");
});

test("host.get brings the context and the tools of a request that waits", async () => {
  const on = await house();
  const agent = () => agentOf([{ calls: [{ id: "call_1", name: "pay" }] }, "Done."], { tools: { pay } });
  const first = on.host({ agent: agent() });
  const request = await on.end(first.ask("t", "Pay.", { context, tools: { look } } as never));
  for await (const _event of request.events({ until: "waiting" }));
  await on.end(first.stop());
  const second = AgentHost.create({ agent: agentOf(["Done."], { tools: { pay } }), store: on.store, ports: on.ports });
  const server = await on.end(second.get("t", { context, tools: { look } } as never));
  await on.end(server.approve("call_1"));
  expect((await on.end(server.result(request.id))).text).toBe("Done.");
  await on.end(second.stop());
});
