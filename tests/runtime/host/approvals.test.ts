import { type AgentRequest, AgentServer, jsonSchema, react, resumeTokens, suspend, type ThreadStore } from "heddle";
import { faultStore } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { ASK, agentOf, anything, careful, house, PAY, realTime, SECRET } from "./support/hosts.ts";

async function tokenOf(request: AgentRequest): Promise<string> {
  let token = "";
  for await (const event of request.events({ until: "waiting" }))
    if (event.kind === "checkpoint") token = event.data.token;
  return token;
}

async function comesToWait(request: AgentRequest): Promise<void> {
  for await (const _event of request.events({ until: "waiting" }));
}

test.each(["the holder", "another process"])(
  "a decision for a request is not that of a later call with its id, in %s",
  async (place) => {
    const { host: make, end, store } = await house();
    const { agent, ran } = careful([PAY, PAY, ASK, "Done."]);
    const holder = make({ agent });
    const first = await end(holder.ask("thread_1", "Pay 1"));
    await comesToWait(first);
    await end(holder.cancel("thread_1", first.id));
    const second = await end(holder.ask("thread_1", "Pay 999"));
    await comesToWait(second);
    const host = place === "the holder" ? holder : make({ agent: careful([]).agent });
    const late = { requestId: first.id };
    const refused = { code: "not_waiting", message: `The request ${first.id} is not open.` };
    const { rev } = await holder.thread("thread_1");
    await expect(end(host.approve("thread_1", "call_p", late))).rejects.toMatchObject(refused);
    await expect(end(host.deny("thread_1", "call_p", late))).rejects.toMatchObject(refused);
    await expect(end(host.answer("thread_1", "call_p", 1, late))).rejects.toMatchObject(refused);
    expect([(await holder.thread("thread_1")).rev, ran]).toEqual([rev, []]);
    const [call] = await holder.waiting("thread_1");
    expect(call?.requestId).toBe(second.id);
    await end(host.approve("thread_1", "call_p", { requestId: second.id }));
    await comesToWait(second);
    await expect(end(host.answer("thread_1", "call_q", 1, late))).rejects.toMatchObject(refused);
    await end(host.answer("thread_1", "call_q", 42, { requestId: second.id }));
    expect((await end(second.result)).text).toBe("Done.");
    expect(ran).toEqual(["call_p"]);
    const resolved = (await store.load("thread_1"))?.filterByKind("approval_resolved") ?? [];
    expect(resolved.map(({ payload }) => "requestId" in payload)).toEqual([false]);
    await end(host.stop());
    await end(holder.stop());
  },
);

describe("a decision where another process holds the thread goes by entry, and that one acts on it", () => {
  for (const [what, decide, result] of [
    [
      "approve",
      (host: ReturnType<Awaited<ReturnType<typeof house>>["host"]>) => host.approve("thread_1", "call_p", { by: "u1" }),
      ["call_p"],
    ],
    [
      "deny",
      (host: ReturnType<Awaited<ReturnType<typeof house>>["host"]>) =>
        host.deny("thread_1", "call_p", { reason: "no" }),
      [],
    ],
  ] as const) {
    test(what, async () => {
      const { host: make, end, store } = await house();
      const { agent, ran } = careful([PAY, "Done."]);
      const holder = make({ agent });
      const request = await end(holder.ask("thread_1", "Pay"));
      await comesToWait(request);
      const other = make({ agent: careful([]).agent });
      await decide(other);
      expect((await end(request.result)).text).toBe("Done.");
      expect(ran).toEqual(result);
      const [resolved, ...more] = (await store.load("thread_1"))?.filterByKind("approval_resolved") ?? [];
      expect([resolved?.payload.approved, more]).toEqual([what === "approve", []]);
      await end(other.stop());
      await end(holder.stop());
    });
  }

  test("answer", async () => {
    const { host: make, end } = await house();
    const holder = make({ agent: careful([ASK, "Thanks."]).agent });
    const request = await end(holder.ask("thread_1", "Hi"));
    await comesToWait(request);
    const other = make({ agent: careful([]).agent });
    await other.answer("thread_1", "call_q", 42);
    expect((await end(request.result)).text).toBe("Thanks.");
    await end(holder.stop());
    await end(other.stop());
  });

  test("what does not wait for it is refused and writes nothing", async () => {
    const { host: make, end, store } = await house();
    const holder = make({ agent: careful([PAY]).agent });
    await comesToWait(await end(holder.ask("thread_1", "Pay")));
    const other = make({ agent: careful([]).agent });
    const rev = (await store.load("thread_1"))?.rev;
    await expect(other.approve("thread_1", "call_x")).rejects.toMatchObject({
      code: "not_waiting",
      message: "No call call_x is known. These wait: call_p.",
    });
    await expect(other.answer("thread_1", "call_p", 1)).rejects.toMatchObject({ code: "not_waiting" });
    expect((await store.load("thread_1"))?.rev).toBe(rev);
    await end(holder.stop());
    await end(other.stop());
  });

  test("a client's call that has to be approved first is not answered before", async () => {
    const { host: make, end } = await house();
    const tools = { ask: { inputSchema: anything, needsApproval: true } };
    const holder = make({ agent: agentOf([ASK], { tools }) });
    await comesToWait(await end(holder.ask("thread_1", "Hi")));
    const other = make({ agent: agentOf([], { tools }) });
    await expect(other.answer("thread_1", "call_q", 1)).rejects.toMatchObject({ code: "not_waiting" });
    await end(holder.stop());
    await end(other.stop());
  });

  test("of two who decide at once, one does", async () => {
    const { host: make, end, store } = await house();
    const { agent, ran } = careful([PAY, "Done."]);
    const holder = make({ agent });
    const request = await end(holder.ask("thread_1", "Pay"));
    await comesToWait(request);
    const others = [make({ agent: careful([]).agent }), make({ agent: careful([]).agent })];
    const settled = await Promise.allSettled(
      others.map((host, n) => (n === 0 ? host.approve("thread_1", "call_p") : host.deny("thread_1", "call_p"))),
    );
    expect(settled.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    await end(request.result);
    expect((await store.load("thread_1"))?.filterByKind("approval_resolved")).toHaveLength(1);
    expect(ran.length).toBe(settled[0]?.status === "fulfilled" ? 1 : 0);
    for (const host of [holder, ...others]) await end(host.stop());
  });
});

test("a decision is acted on here when the holder had died: after its claim has run out", async () => {
  const { host: make, end, pass, store } = await house();
  const first = careful([PAY]);
  const dead = make({ agent: first.agent });
  await comesToWait(await end(dead.ask("thread_1", "Pay")));
  await end(dead.stop());
  await store.claim("thread_1", { holder: "dead", ttlMs: 5_000 });
  const { agent, ran } = careful(["Paid."]);
  const host = make({ agent });
  await host.approve("thread_1", "call_p");
  expect(ran).toEqual([]);
  await pass(10_000);
  expect(ran).toEqual(["call_p"]);
  await end(host.stop());
});

test("a decision is acted on by a worker when the holder had died and the host that wrote it has stopped", async () => {
  const { host: make, end, pass, store } = await house();
  const dead = make({ agent: careful([PAY]).agent });
  await comesToWait(await end(dead.ask("thread_1", "Pay")));
  await end(dead.stop());
  await store.claim("thread_1", { holder: "dead", ttlMs: 5_000 });
  const short = make({ agent: careful([]).agent });
  await short.approve("thread_1", "call_p");
  await end(short.stop());
  const { agent, ran } = careful(["Paid."]);
  const host = make({ agent });
  host.work();
  await pass(10_000);
  expect(ran).toEqual(["call_p"]);
  expect(await store.list({ status: "completed" })).toMatchObject({ threads: [{ id: "thread_1" }] });
  await end(host.stop());
});

test("a call that another process allowed is resumed by a worker when its holder dies in it", async () => {
  const { host: make, end, pass, store } = await house();
  const dying = faultStore(store, { plan: () => undefined });
  const execute = (): Promise<string> => new Promise(() => undefined);
  const tools = { pay: { inputSchema: anything, needsApproval: true, execute } };
  const holder = make({ agent: agentOf([PAY], { tools }), store: dying });
  await comesToWait(await end(holder.ask("thread_1", "Pay")));
  const short = make({ agent: careful([]).agent });
  await short.approve("thread_1", "call_p");
  await end(short.stop());
  await pass(1_000); // it runs
  dying.crash();
  const { agent } = careful(["It may have been paid."]);
  const host = make({ agent });
  host.work();
  await pass(15_000);
  expect(await store.list({ status: "completed" })).toMatchObject({ threads: [{ id: "thread_1" }] });
  await end(host.stop());
});

test("a message that waits while a decision of another process is not known here leaves the thread due", async () => {
  const { host: make, end, pass, store } = await house();
  const deaf: ThreadStore = Object.create(store, {
    watch: { value: () => (async function* () {})() }, // is not shown what others write
  });
  const dying = faultStore(deaf, { plan: () => undefined });
  const holder = make({ agent: careful([PAY]).agent, store: dying });
  await comesToWait(await end(holder.ask("thread_1", "Pay")));
  const short = make({ agent: careful([]).agent });
  await short.approve("thread_1", "call_p");
  await end(short.stop());
  await end(holder.steer("thread_1", "Quick."));
  dying.crash();
  await pass(60_000);
  const lease = await store.leases?.start({ node: "other", ttlMs: 60_000 });
  expect(lease && (await store.runnable?.take({ lease }))).toMatchObject([{ threadId: "thread_1" }]);
});

test("a decision of a host that has lost its claim goes by entry, to the current holder of the thread", async () => {
  const { host: make, end, pass, ports } = await house();
  const hung = make({ agent: careful([PAY]).agent, ports: { ...ports, after: () => () => undefined } }); // renews nothing
  const request = await end(hung.ask("thread_1", "Pay"));
  await comesToWait(request);
  await pass(11_000);
  const { agent, ran } = careful(["Paid."]);
  const other = make({ agent });
  await end(other.get("thread_1"));
  await end(hung.approve("thread_1", "call_p"));
  await pass(1_000);
  expect(ran).toEqual(["call_p"]);
  await end(other.stop());
});

test("stopping forgets what was to be looked at later: no timer stays", async () => {
  const { host: make, end, store, ports } = await house();
  const timers = new Set<object>();
  const after: typeof ports.after = (ms, run) => {
    const key = {};
    timers.add(key);
    const cancel = ports.after(ms, run);
    return () => {
      timers.delete(key);
      cancel();
    };
  };
  const dead = make({ agent: careful([PAY]).agent });
  await comesToWait(await end(dead.ask("thread_1", "Pay")));
  await end(dead.stop());
  await store.claim("thread_1", { holder: "dead", ttlMs: 5_000 });
  const host = make({ agent: careful([]).agent, ports: { ...ports, after } });
  await host.approve("thread_1", "call_p");
  expect(timers.size).toBe(1);
  await end(host.stop());
  expect([timers.size, host.size]).toEqual([0, 0]);
});

describe("by signed token", () => {
  const signed = { tokenSecret: SECRET };

  test("a token of the request resumes it, and decides on its calls", async () => {
    const { host: make, end } = await house(undefined, realTime());
    const { agent, ran } = careful([PAY, "Paid."], signed);
    const first = make({ agent });
    const token = await tokenOf(await end(first.ask("thread_1", "Pay")));
    await end(first.stop());
    const host = make({ agent });
    const request = await host.resume(token);
    expect(request?.state).toBe("waiting");
    await host.approve(token, "call_p", { by: "u1" });
    if (request !== undefined) expect((await end(request.result)).text).toBe("Paid.");
    expect(ran).toEqual(["call_p"]);
    await end(host.stop());
  });

  test("also where another process holds the thread", async () => {
    const { host: make, end } = await house(undefined, realTime());
    const { agent, ran } = careful([PAY, "Paid."], signed);
    const holder = make({ agent });
    const request = await end(holder.ask("thread_1", "Pay"));
    const token = await tokenOf(request);
    const other = make({ agent: careful([], signed).agent });
    await other.approve(token, "call_p");
    expect((await end(request.result)).text).toBe("Paid.");
    expect(ran).toEqual(["call_p"]);
    await expect(other.approve(token, "call_p")).rejects.toMatchObject({ code: "token_superseded" });
    await end(holder.stop());
    await end(other.stop());
  });

  test("what is not a good token of an open request here is refused", async () => {
    const { host: make, end, store } = await house(undefined, realTime());
    const { agent } = careful([PAY, "Not.", PAY], signed);
    const revocations = resumeTokens.revocations(store);
    const host = make({ agent, revocations });
    const first = await end(host.ask("thread_1", "Pay"));
    const token = await tokenOf(first);
    const other = make({ agent: agentOf([], { tokenSecret: `${SECRET} other` }) });
    await expect(other.approve(token, "call_p")).rejects.toMatchObject({ code: "invalid_token_signature" });
    await expect(host.approve(`${token}x`, "call_p")).rejects.toMatchObject({ name: "TokenError" });
    await expect(host.resume("rt1.a.b")).rejects.toMatchObject({ code: "invalid_token_prefix" });
    await host.deny(token, "call_p");
    await end(first.result);
    await expect(host.deny(token, "call_p")).rejects.toMatchObject({ code: "token_superseded" });
    const second = await end(host.ask("thread_1", "Pay again"));
    await expect(host.approve(token, "call_p")).rejects.toMatchObject({ code: "token_superseded" }); // the same id in another request
    const newer = await tokenOf(second);
    await revocations.revoke(resumeTokens.id(newer));
    await expect(host.approve(newer, "call_p")).rejects.toMatchObject({ code: "token_revoked" });
    const carried = await react
      .start("Hi", careful([PAY], signed).agent)
      .then((handle) => handle.result.catch(() => handle.token ?? ""));
    await expect(host.resume(carried as string)).rejects.toMatchObject({ code: "invalid_token_state" });
    await end(host.stop());
    await end(other.stop());
  });

  test("a server emits a token each time its request starts to wait", async () => {
    const { store, ports, end } = await house(undefined, realTime());
    const calls = {
      calls: [
        { id: "call_1", name: "pay" },
        { id: "call_2", name: "pay" },
      ],
    };
    const server = await end(AgentServer.start({ agent: careful([calls, "Done."], signed).agent, store, ports }));
    const request = await end(server.ask("Pay twice"));
    const kinds: string[] = [];
    const reading = (async () => {
      for await (const { kind } of request.events()) kinds.push(kind);
    })();
    await comesToWait(request);
    await end(server.approve("call_1"));
    await comesToWait(request);
    await end(server.approve("call_2"));
    await end(reading);
    const behindRequests = kinds.slice(kinds.indexOf("approval_requested"));
    expect(behindRequests.slice(0, 3)).toEqual(["approval_requested", "approval_requested", "checkpoint"]);
    await end(server.stop());
  });
});

describe("a call that waits while its tool is changed by a deploy", () => {
  const given = { amount: 5 };
  const asking = { calls: [{ id: "call_p", name: "pay", arguments: given }] } as const;

  /** The texts of the results after the approval by a process with these tools, and the arguments of its runs. */
  async function approvedWith(tools: (execute: (input: unknown) => string) => object) {
    const { host, end, store } = await house();
    const before = { pay: { inputSchema: anything, needsApproval: true, execute: () => "paid by the old code" } };
    const old = host({ agent: agentOf([asking], { tools: before }), idleMs: 0 });
    const request = await end(old.ask("thread_1", "Pay"));
    await comesToWait(request);
    await end(old.stop());
    const ran: unknown[] = [];
    const execute = (input: unknown): string => {
      ran.push(input);
      return "paid";
    };
    const next = host({ agent: agentOf(["Done."], { tools: tools(execute) }) });
    await end(next.approve("thread_1", "call_p", { by: "Grace" }));
    await end((await end(next.get("thread_1"))).result(request.id));
    await end(next.stop());
    const results = (await store.load("thread_1"))?.filterByRef("toolCallId", "call_p") ?? [];
    return { ran, result: String(results.at(-1)?.payload["content"]) };
  }

  test("gets an error if the new schema checks and refuses its arguments", async () => {
    const inputSchema = jsonSchema<{ readonly cents: number }>(anything, {
      validate: () => ({ success: false, error: new Error("needs the field cents") }),
    });
    const { ran, result } = await approvedWith((execute) => ({ pay: { inputSchema, needsApproval: true, execute } }));
    expect([ran, result]).toEqual([[], expect.stringContaining("tool_bad_arguments")]);
  });

  test("runs with its old arguments if the new schema is a JSON Schema, which checks nothing", async () => {
    const inputSchema = { type: "object", properties: { cents: { type: "number" } }, required: ["cents"] };
    const { ran, result } = await approvedWith((execute) => ({ pay: { inputSchema, needsApproval: true, execute } }));
    expect([ran, result]).toEqual([[given], "paid"]);
  });

  test("gets an error if the tool is gone", async () => {
    const { ran, result } = await approvedWith(() => ({}));
    expect([ran, result]).toEqual([[], expect.stringContaining("tool_unknown")]);
  });
});

test.each(["the holder", "another process"])(
  "a call that has asked, and whose tool is gone after a deploy, is closed as interrupted with the answer that %s took",
  async (place) => {
    const { host, end, store, warnings } = await house();
    const book = { inputSchema: anything, repeatable: true, execute: () => suspend({ confirm: true }) };
    const old = host({ agent: agentOf([{ calls: [{ id: "c1", name: "book" }] }], { tools: { book } }), idleMs: 0 });
    await comesToWait(await end(old.ask("thread_1", "Book")));
    await end(old.stop());
    const next = host({ agent: agentOf(["Done."], { tools: { reserve: { ...book, execute: () => "new" } } }) });
    const request = await end(next.resume("thread_1"));
    const kinds: string[] = [];
    const reading = (async () => {
      for await (const { kind } of request?.events() ?? []) kinds.push(kind);
    })();
    const writer = place === "the holder" ? next : host({ agent: agentOf([]) });
    await end(writer.answer("thread_1", "c1", { status: "confirmed" }));
    await end(reading);
    const [result] = (await store.load("thread_1"))?.filterByRef("toolCallId", "c1").slice(-1) ?? [];
    const message = expect.stringContaining("may have run");
    const error = { type: "interrupted", message, answer: { status: "confirmed" } };
    expect(JSON.parse(String(result?.payload["content"]))).toEqual({ error });
    expect(kinds.filter((kind) => kind.startsWith("tool_"))).toEqual(["tool_interrupted", "tool_completed"]);
    expect(warnings).toContainEqual(expect.stringMatching(/thread_1.*c1.*book.*may have run/));
    await end(writer.stop());
    await end(next.stop());
  },
);
