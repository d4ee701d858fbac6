import { type AnyAgent, agentTool, StoreError, type ThreadStore } from "heddle";
import type { ErrorOrigin } from "heddle/core";
import { faultStore, type ScriptedStep } from "heddle/testing";
import { describe, expect, test } from "vitest";
import type { ChildThread } from "../../../src/agent/react/state.ts";
import { childStories } from "./support/child-stories.ts";
import { childrenOf, logOf, resultsIn } from "./support/family.ts";
import { agentOf, anything, careful, house, PAY } from "./support/hosts.ts";

childStories("in memory", () => undefined);

test("no time limit of a tool or of the request ends a call whose agent runs or waits", async () => {
  const { host: make, end, pass } = await house();
  const { agent: payer } = careful([PAY, "Paid."], { name: "payer" });
  const tools = { pay: agentTool(payer, { description: "Pays" }) };
  const call = { calls: [{ id: "call_1", name: "pay", arguments: { task: "Pay." } }] };
  const host = make({ agent: agentOf([call, "Done."], { tools, toolTimeoutMs: 1_000, totalTimeoutMs: 5_000 }) });
  const request = await end(host.ask("thread_1", "Go."));
  await pass(3_600_000);
  const [waiting] = await end(host.waiting("thread_1"));
  await end(host.approve(waiting?.threadId ?? "", "call_p"));
  expect((await end(request.result)).text).toBe("Done.");
  await end(host.stop());
});

test.each([{ tsk: "Pay." }, { task: 7 }, {}])(
  "the arguments %j start no agent, because they have no task",
  async (given) => {
    const { host: make, end, store } = await house();
    const { agent: payer } = careful(["Paid."], { name: "payer" });
    const tools = { pay: agentTool(payer, { description: "Pays" }) };
    const call = { calls: [{ id: "call_1", name: "pay", arguments: given }] };
    const host = make({ agent: agentOf([call, "Not paid."], { tools }) });
    const request = await end(host.ask("thread_1", "Go."));
    expect((await end(request.result)).text).toBe("Not paid.");
    const log = JSON.stringify((await host.thread("thread_1")).toArray());
    expect(log).toMatch(/tool_bad_arguments.*needs the field task/);
    expect((await store.list({})).threads.map(({ id }) => id)).toEqual(["thread_1"]);
    await end(host.stop());
  },
);

test.each(["the agent", "the ask"])("an agent without prices is not asked where %s has a limit of cost", async (by) => {
  const { host: make, end, store } = await house();
  const { agent: payer } = careful(["Paid."], { name: "payer" });
  const tools = { pay: agentTool(payer, { description: "Pays" }) };
  const limits = { costUsd: () => 1, ...(by === "the agent" && { maxCostUsd: 5 }) };
  const call = { calls: [{ id: "call_1", name: "pay", arguments: { task: "Pay." } }] };
  const host = make({ agent: agentOf([call, "Not paid."], { tools, limits }) });
  const options = by === "the ask" ? { limits: { maxCostUsd: 5 } } : {};
  const request = await end(host.ask("thread_1", "Go.", options));
  expect((await end(request.result)).text).toBe("Not paid.");
  const result = (await host.thread("thread_1"))
    .toArray()
    .find(({ payload }) => Reflect.get(payload, "role") === "tool");
  expect(result?.payload).toMatchObject({ toolCallId: "call_1", isError: true });
  expect(JSON.stringify(result?.payload)).toMatch(/invalid_options.*agent payer.*Give it costUsd/);
  expect((await store.list({})).threads.map(({ id }) => id)).toEqual(["thread_1"]);
  await end(host.stop());
});

test.each([
  [
    "throws",
    () => {
      throw new Error("prompt is broken");
    },
  ],
  ["answers no content", () => undefined as never], // a caller without types
  ["answers no words", () => ""],
])("a prompt function that %s fails only its call", async (_name, prompt: () => string) => {
  const { host: make, end } = await house();
  const { agent: payer } = careful([PAY, "Paid."], { name: "payer" });
  const tools = { pay: agentTool(payer, { description: "Pays", prompt }) };
  const call = { calls: [{ id: "call_1", name: "pay", arguments: { task: "Pay." } }] };
  const host = make({ agent: agentOf([call, "Not paid."], { tools }) });
  const request = await end(host.ask("thread_1", "Go."));
  expect((await end(request.result)).text).toBe("Not paid.");
  const result = (await host.thread("thread_1"))
    .toArray()
    .find(({ payload }) => Reflect.get(payload, "role") === "tool");
  expect(result?.payload).toMatchObject({ toolCallId: "call_1", isError: true });
  await end(host.stop());
});

test("a call that cannot ask its agent has an error for onError, and the request has its answer", async () => {
  const { host: make, end, store: inner } = await house();
  const broken = new StoreError({ code: "store_failed", message: "The list is gone." });
  const store = faultStore(inner, {
    readPlan: ({ method }) => (method === "list" ? { type: "fail", error: broken } : undefined),
  });
  const { agent: payer } = careful(["Paid."], { name: "payer" });
  const tools = { pay: agentTool(payer, { description: "Pays" }) };
  const call = { calls: [{ id: "call_1", name: "pay", arguments: { task: "Pay." } }] };
  const errors: unknown[] = [];
  const onError = (error: unknown, { code, toolCallId }: ErrorOrigin) => void errors.push([error, code, toolCallId]);
  const host = make({ agent: agentOf([call, "Not paid."], { tools }), store, onError });
  const request = await end(host.ask("thread_1", "Go."));
  expect((await end(request.result)).text).toBe("Not paid.");
  expect(errors).toEqual([[broken, "tool_failed", "call_1"]]);
  expect(JSON.stringify((await host.thread("thread_1")).toArray())).not.toContain("The list is gone.");
  await end(host.stop());
});

test("a child that ends after its parent was answered without it sends nothing, and ends once", async () => {
  const { host: make, end, settled, store: inner } = await house();
  let appends = 0;
  const append: ThreadStore["append"] = (...args) => {
    if (++appends > 100) throw new StoreError({ code: "store_failed", message: "It is appended again and again." });
    return inner.append(...args);
  };
  const store = { ...inner, append };
  const payer = careful([PAY, "Paid."], { name: "payer" }).agent;
  const tools = { pay: agentTool(payer, { description: "Pays" }) };
  const lead = agentOf([{ calls: [{ id: "call_1", name: "pay", arguments: { task: "Pay." } }] }, "Not paid."], {
    tools,
  });
  const host = make({ agents: [lead, payer], store });
  const request = await end(host.ask("thread_1", "Go.", { agent: lead.name }));
  await settled();
  const [child = ""] = await childrenOf(inner);
  const saved = (await inner.load(child)) ?? expect.fail("it is stored");
  await inner.delete(child);
  expect((await end(request.result)).text).toBe("Not paid.");
  await inner.save(saved);
  await end(host.approve(child, "call_p"));
  await settled();
  expect((await inner.load(child))?.metadata["status"]).toBe("completed");
  expect(appends).toBeLessThan(30);
  await end(host.stop());
});

test("a child whose refusal could not be written yet is not lost for its parent", async () => {
  const { host: make, end, pass, store: inner } = await house();
  const [away, refuses] = [{ is: true }, { is: true }];
  let appends = 0;
  const append: ThreadStore["append"] = async (id, ...rest) => {
    const error = new StoreError({ code: "store_unreachable", message: "Away.", retryable: true });
    if (away.is && id.startsWith("child")) throw error;
    if (++appends > 100) throw new StoreError({ code: "store_failed", message: "It is appended again and again." });
    return inner.append(id, ...rest);
  };
  const systemPrompt = () => {
    if (!refuses.is) return "Pay.";
    refuses.is = false;
    throw new Error("Not now.");
  };
  const payer = agentOf(["Paid."], { name: "payer", systemPrompt });
  const tools = { pay: agentTool(payer, { description: "Pays" }) };
  const call = { calls: [{ id: "call_1", name: "pay", arguments: { task: "Pay." } }] };
  const host = make({ agent: agentOf([call, "Done."], { tools }), store: { ...inner, append } });
  const request = await end(host.ask("thread_1", "Go."));
  await pass(8000);
  away.is = false;
  await pass(120_000);
  expect((await end(request.result)).text).toBe("Done.");
  expect(resultsIn(await logOf(inner, "thread_1"))[0]?.[1]).toBe("Paid.");
  await end(host.stop());
});

describe("a child that cannot answer any more", () => {
  const call = { calls: [{ id: "call_1", name: "pay", arguments: { task: "Pay." } }] };
  const childOf = async (store: ThreadStore): Promise<string> => {
    const named = (await logOf(store, "thread_1")).flatMap(
      ({ payload }) => (payload as { child?: ChildThread }).child ?? [],
    );
    return named[0]?.threadId ?? "";
  };
  const leads = (payer: AnyAgent, script: readonly ScriptedStep[]) => {
    return agentOf(script, { name: "lead", tools: { pay: agentTool(payer, { description: "Pays" }) } });
  };
  const never = () => new Promise<never>(() => undefined);

  test.each(["where it is prepared", "from elsewhere"])(
    "because its waiting ask was withdrawn %s, ends the call of its parent",
    async (where) => {
      const { host: make, end, settled, store } = await house();
      const lead = leads(agentOf([], { name: "payer", accept: never }), [call, "Not paid."]);
      const host = make({ agent: lead });
      const request = await end(host.ask("thread_1", "Go.", { requestId: "req_1" }));
      await settled();
      const child = await childOf(store);
      const second = where === "from elsewhere" ? make({ agent: lead }) : host;
      if (second !== host) {
        request.result.catch(() => undefined);
        await end(host.stop({ graceMs: 0 }));
      }
      await end(second.withdraw(child, child));
      const again = second === host ? request : await end(second.ask("thread_1", "Go.", { requestId: "req_1" }));
      expect((await end(again.result)).text).toBe("Not paid.");
      const [[, content] = []] = resultsIn(await logOf(store, "thread_1"));
      expect(content).toMatch(/cancelled.*The ask was withdrawn before its turn/);
      await end(second.stop({ graceMs: 0 }));
    },
  );

  test("because the process that withdrew its ask was killed, ends the call of its parent at the next start", async () => {
    const { host: make, end, settled, store } = await house();
    const lead = leads(agentOf([], { name: "payer", accept: never }), [call, "Not paid."]);
    const host = make({ agent: lead });
    const request = await end(host.ask("thread_1", "Go.", { requestId: "req_1" }));
    request.result.catch(() => undefined);
    await settled();
    const child = await childOf(store);
    await end(host.stop({ graceMs: 0 }));
    await store.withdraw(child, child); // its next write was the answer to the parent
    for (const isKilled of [true, false]) {
      const post = isKilled ? () => new Promise<never>(() => undefined) : store.post;
      const next = make({ agent: lead, store: { ...store, post } });
      const again = await end(next.ask("thread_1", "Go.", { requestId: "req_1" }));
      if (isKilled) again.result.catch(() => undefined);
      else expect((await end(again.result)).text).toBe("Not paid.");
      await settled();
      await end(next.stop({ graceMs: 0 }));
    }
    expect(resultsIn(await logOf(store, "thread_1"))).toEqual([["pay", expect.stringContaining("thread_not_found")]]);
  });

  test.each(["while it waits", "while no process has it"])(
    "because its thread was deleted %s, ends the call of its parent",
    async (when) => {
      const { host: make, end, settled, store } = await house();
      const lead = () => leads(careful([PAY], { name: "payer" }).agent, [call, "Not paid."]);
      const host = make({ agent: lead() });
      const request = await end(host.ask("thread_1", "Go.", { requestId: "req_1" }));
      await settled();
      const child = await childOf(store);
      if (when === "while it waits") {
        await store.delete(child);
        expect((await end(request.result)).text).toBe("Not paid.");
        await end(host.stop());
      } else {
        request.result.catch(() => undefined);
        await end(host.stop());
        await store.delete(child);
        const second = make({ agent: leads(careful([], { name: "payer" }).agent, ["Not paid."]) });
        const again = await end(second.ask("thread_1", "Go.", { requestId: "req_1" }));
        expect((await end(again.result)).text).toBe("Not paid.");
        await end(second.stop());
      }
      const [[, content] = []] = resultsIn(await logOf(store, "thread_1"));
      expect(content).toContain("thread_not_found");
      expect(await store.load(child)).toBeUndefined();
    },
  );
});

test("a parent whose agent works, or waits for a person, has nothing due, and the end of the child wakes it", async () => {
  const { host: make, end, store } = await house();
  const woken: string[] = [];
  const scheduler = { wake: (threadId: string) => void woken.push(threadId) };
  const paid = Promise.withResolvers<string>();
  const pay = { inputSchema: anything, needsApproval: true, execute: () => paid.promise };
  const payer = agentOf([PAY, "Paid."], { name: "payer", tools: { pay } });
  const tools = { pay: agentTool(payer, { description: "Pays" }) };
  const call = { calls: [{ id: "call_1", name: "pay", arguments: { task: "Pay." } }] };
  const host = make({ agent: agentOf([call, "Done."], { tools }), scheduler });
  const request = await end(host.ask("thread_1", "Go."));
  expect(await end(host.advance("thread_1"))).toEqual({ state: "idle" });
  const [child = ""] = await childrenOf(store);
  expect(await end(host.advance(child))).toEqual({ state: "idle" });
  await end(host.approve(child, "call_p"));
  expect(await end(host.advance("thread_1"))).toEqual({ state: "idle" }); // while the child runs
  paid.resolve("paid");
  expect([request.state, woken.splice(0).includes(child)]).toEqual(["running", true]);
  expect(await end(host.advance(child))).toEqual({ state: "idle" });
  expect(woken).toContain("thread_1");
  expect(await end(host.advance("thread_1"))).toEqual({ state: "idle" });
  expect((await end(request.result)).text).toBe("Done.");
  await end(host.stop());
});

test.each(["is stopped", "has died"])(
  "a parent is woken where the process of its child %s at the end of the child",
  async (how) => {
    const { host: make, end, store } = await house();
    const woken: string[] = [];
    const scheduler = { wake: (threadId: string) => void woken.push(threadId) };
    const researcher = agentOf([{ hang: true }], { name: "researcher" });
    const tools = { ask: agentTool(researcher, { description: "Asks" }) };
    const call = { calls: [{ id: "call_1", name: "ask", arguments: { task: "x" } }] };
    const lead = (script: Parameters<typeof agentOf>[0]) => agentOf(script, { name: "lead", tools });
    const first = make({ agent: lead([call]) });
    await end(first.ask("thread_1", "Go."));
    await expect.poll(() => end(childrenOf(store))).toHaveLength(1);
    await end(first.stop({ graceMs: 0 }));
    const [child = ""] = await childrenOf(store);
    const second = make({ agent: agentOf(["42"], { name: "researcher" }), ...(how === "is stopped" && { scheduler }) });
    await end(second.advance(child));
    await end(second.stop({ graceMs: 0 }));
    const third = make({ agent: lead(["It is 42."]), scheduler });
    if (how === "has died") expect(await end(third.advance(child))).toEqual({ state: "idle" }); // the engine calls again
    expect(woken).toContain("thread_1");
    expect(await end(third.advance("thread_1"))).toEqual({ state: "idle" });
    expect((await store.load("thread_1"))?.metadata["status"]).toBe("completed");
    woken.splice(0);
    await end(third.advance(child));
    expect(woken).not.toContain("thread_1");
    await end(third.stop());
  },
);

test("a parent whose agent a deploy has removed says so, and a steer that skips the call frees it", async () => {
  const { host: make, end, warnings } = await house();
  const cars = agentOf([PAY], { name: "cars", tools: { pay: { inputSchema: anything } } });
  const tools = { cars: agentTool(cars, { description: "Books cars" }) };
  const call = { calls: [{ id: "call_1", name: "cars", arguments: { task: "x" } }] };
  const before = make({ agent: agentOf([call], { name: "lead", tools }) });
  await end(before.ask("thread_1", "Go."));
  await expect.poll(() => end(before.waiting("thread_1"))).toHaveLength(1);
  expect(await end(before.advance("thread_1"))).toEqual({ state: "idle" });
  expect(warnings).toEqual([]);
  await end(before.stop());
  const after = make({ agent: agentOf(["By train, then."], { name: "lead" }) });
  expect(await end(after.advance("thread_1"))).toEqual({ state: "idle" });
  expect(warnings).toEqual([expect.stringMatching(/thread_1.*"cars".*does not serve.*skip/)]);
  const request = await end(after.resume("thread_1"));
  await end(after.steer("thread_1", "Take the train.", { skip: true }));
  expect((await end(request?.result ?? Promise.reject(new Error("none")))).text).toBe("By train, then.");
  await end(after.stop());
});
