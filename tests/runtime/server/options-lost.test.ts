import { AgentHost, type AskOptions, defineAgent } from "heddle";
import { scriptedModel } from "heddle/testing";
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

describe("an ask with a model by name and a context is answered by another process", () => {
  const T = "t";
  const asked = { model: "large", context: { user: "ann" }, refs: { user: "ann" }, requestId: "r1" };
  type Move = (first: AgentHost, second: AgentHost, settled: () => Promise<void>) => Promise<unknown>;
  const failed = (work: Promise<unknown>) => work.catch((error: { readonly code?: string }) => error.code);
  const hung = async (first: AgentHost) => (await first.ask(T, "Hang.")).id;
  const moves: readonly [string, Move][] = [
    [
      "that waited in the queue",
      async (first, second, settled) => {
        const id = await hung(first);
        const queued = failed(first.ask(T, "Go.", { ...asked, queue: true } as never));
        await settled();
        await first.stop({ graceMs: 0 });
        expect(await queued).toBe("request_suspended");
        await second.cancel(T, id);
      },
    ],
    [
      "that was sent to a holder which stops",
      async (first, second, settled) => {
        const id = await hung(first);
        const queued = second.ask(T, "Go.", { ...asked, queue: true } as never);
        await settled();
        await first.stop({ graceMs: 0 });
        await second.cancel(T, id);
        await queued;
      },
    ],
    [
      "at a time",
      async (first, second) => {
        await first.ask(T, "Go.", { ...asked, at: 1_000 } as never);
        await first.stop();
        await second.get(T);
      },
    ],
    [
      "that was posted",
      async (_, second) => {
        const { context: _made, requestId: id, ...data } = asked;
        await second.store.post(T, { ...data, id, type: "ask", content: "Go." });
      },
    ],
    [
      "that waits for an approval",
      async (first, second) => {
        const request = await first.ask(T, "Pay.", asked as never);
        for await (const _event of request.events({ until: "waiting" }));
        await first.stop();
        await second.approve(T, "call_1");
      },
    ],
    [
      "that failed, and is continued",
      async (first, second) => {
        const { id, result } = await first.ask(T, "Fail.", { ...asked, requestId: "r0" } as never);
        expect(await failed(result)).toBe("request_failed");
        await second.continueRequest(T, id, { requestId: "r1" });
      },
    ],
  ];
  test.each(moves)("%s", async (_what, move) => {
    const on = await house();
    const node = (name: string) => {
      const hangs = scriptedModel([{ hang: true }], { after: on.ports.after });
      const pays = { expect: "Pay.", calls: [{ id: "call_1", name: "pay" }] };
      const script = name === "first" ? [pays, { expect: "Fail.", error: { status: 400 } }] : [];
      const done = { expect: { system: "For ann." }, text: name };
      const large = scriptedModel([...script, done], { order: "any", after: on.ports.after });
      const systemPrompt = (given: { readonly user: string } | undefined) => `For ${given?.user}.`;
      const agent = defineAgent({ model: "small", models: { small: hangs, large }, systemPrompt, tools: { pay } });
      const made = (_id: string, { user = "none" }: { readonly user?: unknown }) => ({ user });
      return on.host({ agent: agent as never, holder: name, context: made as never }); // its context has a type
    };
    const [first, second] = [node("first"), node("second")];
    await on.end(move(first, second, on.settled));
    await on.pass(1_000);
    expect((await on.end(second.result(T, "r1"))).text).toBe("second");
    await on.end(Promise.all([first.stop(), second.stop()]));
  });
});
