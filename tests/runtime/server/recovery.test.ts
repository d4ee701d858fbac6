import type { AgentEvent, Entry } from "heddle";
import { faultStore, type ScriptedStep, scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { AgentServer } from "../../../src/runtime/server/agent-server.ts";
import { defineAgent, toAll } from "../support/recovery-tools.ts";
import { type Spied, spied } from "../support/spied-store.ts";
import { anything, eventsOf, expectWhole, failureOf, proveAll, type Stage, stage, told } from "../support/stage.ts";

/** What may be told again after a crash: it was only on its way. */
const TRANSIENT: readonly string[] = ["llm_delta", "keepalive", "llm_retried"];

interface Ran {
  readonly look: string[];
  readonly charge: string[];
  readonly pay: string[];
}

function toolsOf(ran: Ran) {
  const run =
    (list: string[]) =>
    (_input: unknown, { toolCallId }: { toolCallId: string }) =>
      `ok ${list.push(toolCallId)}`;
  return {
    look: { inputSchema: anything, repeatable: true, execute: run(ran.look) },
    charge: { inputSchema: anything, execute: run(ran.charge) },
    pay: { inputSchema: anything, needsApproval: true, execute: run(ran.pay) },
  };
}

/** First three tools at once, then one more, then the answer; whatever the results were. */
function model({ ports: { after } }: Stage) {
  const step = ({ messages }: { messages: readonly { calls?: readonly unknown[] }[] }) => {
    const rounds = messages.filter(({ calls }) => (calls ?? []).length > 0).length;
    if (rounds === 0)
      return { delayMs: 5, text: "First.", calls: [{ name: "look" }, { name: "charge" }, { name: "pay" }] };
    if (rounds === 1) return { delayMs: 5, calls: [{ name: "charge" }] };
    return { delayMs: 5, text: ["All ", "done."] };
  };
  return scriptedModel(
    Array.from({ length: 12 }, () => step as never),
    { after },
  );
}

interface Recorded {
  readonly on: Stage;
  readonly log: readonly Entry[];
  /** The seq of the last event told before the entry of that seq was written. */
  readonly toldBefore: readonly number[];
}

async function recorded(): Promise<Recorded> {
  const spies: Spied[] = [];
  const on = await stage({
    around: (store) => {
      spies.push(spied(store));
      return spies[0]?.store ?? store;
    },
  });
  const events: AgentEvent[] = [];
  const toldBefore: number[] = [];
  const [spy] = spies;
  if (spy === undefined) throw new Error("no spy");
  spy.trouble = (write, _number, entries) => {
    const last = events.filter(({ kind }) => !TRANSIENT.includes(kind)).at(-1)?.seq ?? 0;
    if (write === "append") for (const _entry of entries) toldBefore.push(last);
    return undefined;
  };
  const ran: Ran = { look: [], charge: [], pay: [] };
  const agent = defineAgent({ model: model(on), tools: toolsOf(ran) as never });
  const { store, threadId, ports } = on;
  const server = await AgentServer.open(
    { agent, store, threadId, ports },
    { listen: (event) => void events.push(event) },
  );
  const request = await on.end(server.ask("Go."));
  await on.pass(10);
  await on.end(server.steer("And be quick."));
  await on.end(server.approve("call_3"));
  await on.end(request.result);
  toldBefore.push(events.at(-2)?.seq ?? 0);
  await on.end(server.stop());
  return { on, log: await on.log(), toldBefore };
}

async function decideAll(on: Stage, server: AgentServer): Promise<void> {
  for (let turn = 0; turn < 8 && server.request !== undefined; turn++) {
    await on.pass(20);
    if (server.request?.state === "waiting") await on.end(server.approve("call_3"));
  }
}

describe("a log that ends anywhere", () => {
  test("is resumed: legal, proven, with continued numbers, and without a second run of what must run once", async () => {
    const { on, log, toldBefore } = await recorded();
    expect(told(log)).toEqual([
      "ask Go.",
      "calls call_1,call_2,call_3",
      "approval_requested call_3",
      "result call_1",
      "result call_2",
      "approval_resolved call_3",
      "result call_3",
      "steer And be quick.",
      "calls call_4",
      "result call_4",
      "says All done. end:completed",
    ]);
    for (const { seq } of log.slice(0, -1)) {
      const cut = `cut_${seq}`;
      await on.store.fork(on.threadId, { atSeq: seq, newId: cut });
      const ran: Ran = { look: [], charge: [], pay: [] };
      const agent = defineAgent({ model: model(on), tools: toolsOf(ran) as never });
      const server = await on.end(AgentServer.open({ agent, store: on.store, threadId: cut, ports: on.ports }));
      const { request } = server;
      await decideAll(on, server);
      if (request === undefined) throw new Error(`nothing was taken up at ${seq}`);
      const { text, calls } = await on.end(request.result);
      expect(text).toBe("All done.");
      expect(calls.length).toBe(3);
      const events = await eventsOf(request);
      expectWhole(events, events[0]?.seq);
      expect(events[0]?.seq).toBeGreaterThan(toldBefore[seq + 1] ?? 0);
      const before = told(log.slice(0, seq + 1));
      const known = (call: string) => before.some((line) => line.startsWith("calls") && line.includes(call));
      const expected = (call: string) => (known(call) ? [] : [call]);
      expect(ran.charge.filter((call) => call === "call_2")).toEqual(expected("call_2"));
      const isDecided = before.includes("approval_resolved call_3");
      expect(ran.pay).toEqual(isDecided ? [] : ["call_3"]);
      expect(await proveAll(on.store, cut)).toBe(3);
      await toAll(on.store, cut);
      await on.end(server.stop());
    }
  });

  test("is closed when the agent wants that, and the next ask works", async () => {
    const { on, log } = await recorded();
    for (const { seq } of log.slice(0, -1)) {
      const cut = `cut_${seq}`;
      await on.store.fork(on.threadId, { atSeq: seq, newId: cut });
      const ran: Ran = { look: [], charge: [], pay: [] };
      const config = { model: model(on), tools: toolsOf(ran) as never, recover: "fail" } as const;
      const server = await on.end(
        AgentServer.open({ agent: defineAgent(config), store: on.store, threadId: cut, ports: on.ports }),
      );
      expect(ran).toEqual({ look: [], charge: [], pay: [] });
      const waits = told(log.slice(0, seq + 1)).at(-1) === "result call_2"; // and nothing else was at work
      expect(server.request?.state).toBe(waits ? "waiting" : undefined);
      if (waits) await on.end(server.cancel());
      const closed = (await on.store.load(cut))?.toArray() ?? [];
      expect(told(closed).at(-1)).toBe(`error end:${waits ? "cancelled" : "failed"}`);
      expect(closed.at(-1)?.payload).toMatchObject({ code: waits ? "request_cancelled" : "request_interrupted" });
      await toAll(on.store, cut);
      await on.end(server.stop());
    }
  });

  test("whose request had ended has nothing to resume", async () => {
    const { on } = await recorded();
    const server = await on.start({ script: ["Hello."] });
    expect(server.request).toBeUndefined();
    await on.end((await on.end(server.ask("Hi."))).result);
  });
});

test("a request that is only to be closed needs no context, no tools and no prompt", async () => {
  const on = await stage();
  const systemPrompt = (context: { user: string }) => `You serve ${context.user.toUpperCase()}.`;
  const store = faultStore(on.store);
  const first = await on.start({ script: [{ hang: true }], systemPrompt } as never, { store });
  await on.end(first.ask("Hi.", { context: { user: "ann" } as never }));
  store.crash();
  const never = () => Promise.reject(new Error("nobody knows"));
  const options = { context: never, tools: never } as never;
  const second = await on.start({ script: [], systemPrompt, recover: "fail" } as never, options);
  expect(second.request).toBeUndefined();
  expect(told(await on.log()).at(-1)).toBe("error end:failed");
});

describe.each([
  ["context", "context_failed"],
  ["tools", "tools_failed"],
] as const)("a %s function that throws", (option, code) => {
  const thrown = new Error("postgres://u:secret@db");
  const heard: unknown[] = [];
  const options = {
    [option]: () => {
      throw thrown;
    },
    onError: (error: unknown, origin: { readonly code: string }) => void heard.push([error, origin.code]),
  } as never;
  const pay = { inputSchema: anything, needsApproval: true, execute: () => "paid" };

  test("fails a running request, with its cause, and the next ask works", async () => {
    heard.length = 0;
    const on = await stage();
    const first = await on.start({ script: [{ hang: true }], tools: { pay } });
    const { id } = await on.end(first.ask("Hi."));
    await on.settled();
    await on.end(first.stop({ graceMs: 0 }));
    const second = await on.start({ script: ["Here."], tools: { pay } }, options);
    expect(heard).toEqual([[thrown, code]]);
    const error = await failureOf(on.end(second.result(id)));
    expect(error).toMatchObject({ code: "request_failed", failure: { code }, cause: thrown });
    expect(await on.end(second.cancel())).toBe(false);
    expect((await on.log()).at(-1)?.payload).toMatchObject({ code, end: { status: "failed" } });
    expect(JSON.stringify(await on.log())).not.toContain("secret");
    expect((await on.end((await on.end(second.ask("Again."))).result)).text).toBe("Here.");
    await toAll(on.store, on.threadId);
  });
});

describe("a context function of the next process", () => {
  type Context = { readonly user: string };
  const PAY = { calls: [{ id: "p", name: "pay" }] };
  const systemPrompt = (context: Context) => `You serve ${context.user}.`;
  const users: string[] = [];
  const execute = (_: unknown, { context }: { readonly context: Context }) => `paid by ${users.push(context.user)}`;
  const tools = { pay: { inputSchema: anything, needsApproval: true, execute } };

  /** A request that waits or runs, and a server that resumes it. Its function fails so often. */
  async function resumed(step: ScriptedStep, failures: number) {
    users.length = 0;
    const on = await stage();
    const first = await on.start({ script: [step], tools, systemPrompt } as never);
    const { id } = await on.end(first.ask("Go.", { context: { user: "ann" } as never }));
    await on.settled();
    await on.end(first.stop({ graceMs: 0 }));
    let calls = 0;
    const context = () => {
      if (++calls <= failures) throw new Error("down");
      return { user: "ann" };
    };
    const errors: string[] = [];
    const onError = (_error: unknown, { code }: { readonly code: string }) => void errors.push(code);
    const script = [{ expect: { system: "You serve ann." }, text: "Done." }];
    const config = { script, tools, systemPrompt, modelMaxRetries: 0 }; // to make its values again is no retry
    const server = await on.start(config as never, { context, onError } as never);
    return { on, server, id, errors };
  }

  test("may throw once", async () => {
    const { on, server, id, errors } = await resumed({ hang: true }, 1);
    expect((await on.end(server.result(id))).text).toBe("Done.");
    expect(errors).toEqual([]);
  });

  test.each(["approve", "deny"] as const)("may fail while the request waits: %s needs its value", async (verb) => {
    const { on, server, id, errors } = await resumed(PAY, 2);
    expect([server.request?.state, errors]).toEqual(["waiting", ["context_failed"]]);
    await on.end(server[verb]("p"));
    expect((await on.end(server.result(id))).text).toBe("Done.");
    expect(users).toEqual(verb === "approve" ? ["ann"] : []);
    expect((await on.log()).filter(({ payload }) => "retried" in payload)).toEqual([]);
    await toAll(on.store, on.threadId);
  });

  test.each(["approve", "deny"] as const)("fails the request when a call needs its value: %s", async (verb) => {
    const { on, server, id } = await resumed(PAY, 9);
    await on.end(server[verb]("p"));
    expect((await failureOf(on.end(server.result(id)))).failure?.code).toBe("context_failed");
    expect(users).toEqual([]);
    expect(told(await on.log()).filter((line) => line.includes("end:"))).toHaveLength(1);
  });
});

test.each([null, Number.NaN, "tools"])(
  "a tools function that returns %s loses no ask, and the start succeeds",
  async (value) => {
    const on = await stage();
    const first = await on.start({ script: [{ hang: true }] });
    const { id } = await on.end(first.ask("Hi."));
    await on.end(first.stop({ graceMs: 0 }));
    const second = await on.start({ script: ["Here."] }, { tools: () => value } as never);
    const error = await failureOf(on.end(second.result(id)));
    expect(error).toMatchObject({ code: "request_failed", failure: { code: "tools_failed" } });
    expect((await on.end((await on.end(second.ask("Again."))).result)).text).toBe("Here.");
  },
);

test("a prompt that needs the context gets it again, from the server that takes the request up", async () => {
  const on = await stage();
  const systemPrompt = (context: { user: string } | undefined) => `You serve ${context?.user.toUpperCase()}.`;
  const first = await on.start({ script: [{ hang: true }], systemPrompt } as never);
  await on.end(first.ask("Hi.", { context: { user: "ann" } as never, refs: { user: "ann" } as never }));
  await on.end(first.stop({ graceMs: 0 }));
  const context = (_threadId: string, refs: object) => ({ user: String(Reflect.get(refs, "user")) });
  const failing = { script: [], systemPrompt: () => Promise.reject(new Error("no")) } as never;
  const broken = on.start(failing, { context: context as never });
  expect((await failureOf(broken)).code).toBe("system_prompt_failed");
  const script = [{ expect: { system: "You serve ANN." }, text: "Hi Ann.", delayMs: 20 }];
  const second = await on.start({ script, systemPrompt } as never, { context: context as never });
  expect((await on.end(second.request?.result ?? Promise.reject(new Error("none")))).text).toBe("Hi Ann.");
  expect(on.warnings).toEqual([]);
});
