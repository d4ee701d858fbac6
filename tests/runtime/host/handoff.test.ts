import {
  AgentServer,
  type AnyAgent,
  defineAgent,
  defineTool,
  handoff,
  type ProviderModel,
  type ThreadStore,
  type ToolOptions,
} from "heddle";
import { toUIMessages } from "heddle/ai-sdk";
import { expect, test } from "vitest";
import { type Rules, ruleModel } from "../../simulation/kills/rule-model.ts";
import { logOf, resultsIn } from "./support/family.ts";
import { agentOf, anything, house } from "./support/hosts.ts";
import { killedAsk } from "./support/killed-ask.ts";

interface Shown {
  readonly agent: string;
  readonly prompt: string;
}

/** An agent whose model answers by rules, and keeps what it was shown. */
function ruled(name: string, shown: Shown[], rules: Rules, config: object = {}): AnyAgent {
  const model = ruleModel((prompt) => {
    shown.push({ agent: name, prompt });
    return rules(prompt);
  });
  return defineAgent({ systemPrompt: `You are ${name}.`, ...config, name, model }) as AnyAgent;
}

const DESCRIPTION = "Questions about invoices";

/** A front desk that hands every question to billing, which looks an invoice up. */
function desk(shown: Shown[] = [], ofFront: object = {}, ofBilling: object = {}): { readonly front: AnyAgent } {
  const lookUp = { inputSchema: anything, repeatable: true, execute: () => "paid in May" };
  const rules: Rules = (prompt) =>
    prompt.includes("paid in May") ? "It was paid in May." : { calls: [["lookUp", 0]] };
  const billing = ruled("billing", shown, rules, { tools: { lookUp }, ...ofBilling });
  const tools = { toBilling: handoff(billing, { description: DESCRIPTION }) };
  const greets: Rules = (prompt) => (prompt.includes("paid?") ? { calls: [["toBilling", 0]] } : "Hello.");
  return { front: ruled("front", shown, greets, { tools, ...ofFront }) };
}

test("an agent hands a request over, and the next agent answers it with its own prompt and tools", async () => {
  const shown: Shown[] = [];
  const { host: make, end, store, warnings } = await house();
  const host = make({ agents: desk(shown, { systemPrompt: () => "You are front." }) });
  const request = await end(host.ask("thread_1", "Is my invoice paid?", { agent: "front" }));
  const events = Array.fromAsync(request.events());
  expect((await end(request.result)).text).toBe("It was paid in May.");
  expect(shown.map(({ agent }) => agent)).toEqual(["front", "billing", "billing"]);
  expect(shown[1]?.prompt).toContain("You are billing.");
  expect(shown[1]?.prompt).not.toContain("You are front.");
  expect(shown[1]?.prompt).toContain("Is my invoice paid?");
  const kinds = (await end(events)).map(({ kind }) => kind);
  expect([kinds.filter((kind) => kind === "llm_started").length, kinds.at(-1)]).toEqual([3, "request_completed"]);
  const [, answer] = toUIMessages(await end(host.thread("thread_1", { whole: true })), {
    metadata: ({ agent }) => ({ agent }),
  });
  expect(answer?.metadata).toMatchObject({ agent: "billing" });
  const log = await logOf(store, "thread_1");
  expect(log.flatMap(({ payload }) => Reflect.get(payload, "handoff") ?? [])).toEqual(["billing"]);
  expect(warnings.filter((warning) => !warning.includes("window"))).toEqual([]); // no change of the prompt is reported
  await end(host.stop());
});

test("later asks go to the agent that has the thread, also of callers that name its first agent", async () => {
  const shown: Shown[] = [];
  const { host: make, end, store } = await house();
  const agents = { ...desk(shown), other: agentOf(["No."], { name: "other" }) };
  let host = make({ agents });
  const asked = async (options: object): Promise<string> =>
    (await end((await end(host.ask("thread_1", "Is it paid?", options))).result)).text;
  await asked({ agent: "front" });
  await asked({});
  await asked({ agent: "front" });
  await end(host.stop());
  host = make({ agents }); // reads the agent from the log
  await asked({ agent: "front" });
  await asked({ agent: "billing" });
  await expect(end(host.ask("thread_1", "And now?", { agent: "other" }))).rejects.toMatchObject({
    code: "agent_mismatch",
  });
  expect(shown.map(({ agent }) => agent)).toEqual(["front", ...Array<string>(6).fill("billing")]);
  const asks = (await logOf(store, "thread_1")).filter(({ payload }) => Reflect.get(payload, "role") === "user");
  const named = asks.map(({ payload }) => [Reflect.get(payload, "agent"), Reflect.get(payload, "startedBy")]);
  expect(named).toEqual([["front", undefined], ...Array<unknown>(4).fill(["billing", "front"])]);
  await end(host.stop());
});

test("an ask on another branch goes to the agent of that branch", async () => {
  const shown: Shown[] = [];
  const { host: make, end, store } = await house();
  let host = make({ agents: desk(shown) });
  let thread = "thread_1";
  const answers = async (content: string, options: object = {}): Promise<readonly unknown[]> => {
    shown.length = 0;
    const request = await end(host.ask(thread, content, { agent: "front", ...options }));
    return [(await end(request.result)).text, ...shown.map(({ agent }) => agent)];
  };
  const paid = "It was paid in May.";
  expect(await answers("Is it paid?")).toEqual([paid, "front", "billing", "billing"]);
  expect(await answers("And now?")).toEqual([paid, "billing"]);
  const [first, , , , , second] = await logOf(store, "thread_1");
  expect(await answers("Good morning.", { branch: { before: first?.id, lane: "b" } })).toEqual(["Hello.", "front"]);
  expect(await answers("Good morning again.")).toEqual(["Hello.", "front"]);
  expect(await answers("And then?", { branch: { before: second?.id, lane: "c" } })).toEqual([paid, "billing"]);
  await end(host.stop());
  host = make({ agents: desk(shown) });
  expect(await answers("Who are you?", { branch: { lane: "b" } })).toEqual(["Hello.", "front"]);
  expect(await answers("And later?", { branch: { lane: "default" } })).toEqual([paid, "billing"]);

  thread = "thread_2"; // handed over in its second request
  expect(await answers("Good morning.")).toEqual(["Hello.", "front"]);
  expect(await answers("Is it paid?")).toEqual([paid, "front", "billing", "billing"]);
  const handed = (await logOf(store, thread))[2]?.id;
  expect(await answers("Who are you?", { branch: { before: handed, lane: "b" } })).toEqual(["Hello.", "front"]);
  await end(host.stop());
});

test("an ask on a branch from before the loaded entries goes to the agent of that place", async () => {
  const shown: Shown[] = [];
  const { host: make, end, store } = await house();
  const policy = { contextPolicy: { maxInputTokens: 2000, reserveOutputTokens: 500, keepLastTurns: 1 } };
  let host = make({ agents: desk(shown, policy, policy) });
  const answers = async (content: string, options: object = {}): Promise<readonly string[]> => {
    shown.length = 0;
    const request = await end(host.ask("thread_1", content, options));
    await end(request.result);
    return [...new Set(shown.map(({ agent }) => agent))];
  };
  const payload = (role: string) => ({ role, content: "The wind howls over the moor. ".repeat(4) });
  const far = ["user", "assistant"].map((role) => ({ kind: "message", payload: payload(role) }));
  await store.append("thread_1", Array(150).fill(far).flat());
  expect(await answers("Good morning.", { agent: "front" })).toEqual(["front"]);
  expect(await answers("Is it paid?")).toEqual(["front", "billing"]);
  expect(await answers("And now?")).toEqual(["billing"]);
  for (let round = 0; round < 4; round++) {
    await end(host.stop());
    await store.append("thread_1", Array(50).fill(far).flat());
    host = make({ agents: desk(shown, policy, policy) });
    expect(await answers("And here?")).toEqual(["billing"]);
  }
  const { firstSeq } = await end(host.thread("thread_1"));
  const log = await logOf(store, "thread_1");
  const before = (content: string) => log.find(({ payload }) => Reflect.get(payload, "content") === content)?.id;
  expect(log.findIndex(({ id }) => id === before("And now?"))).toBeLessThan(firstSeq);
  expect(await answers("And then?", { branch: { before: before("And now?"), lane: "c" } })).toEqual(["billing"]);
  expect(await answers("Who are you?", { branch: { before: before("Is it paid?"), lane: "d" } })).toEqual(["front"]);
  expect(await answers("Hello?", { branch: { before: log[0]?.id, lane: "e" } })).toEqual(["front"]);
  await end(host.stop());
});

test("an ask on a branch whose agent cannot start is refused, and no other agent answers it", async () => {
  const shown: Shown[] = [];
  let isBroken = false;
  const inputSchema = {
    get type() {
      if (isBroken) throw new Error("no schema");
      return "object";
    },
  };
  const lookUp = { inputSchema, repeatable: true, execute: () => "paid in May" };
  const { host: make, end, store } = await house();
  const host = make({ agents: desk(shown, {}, { tools: { lookUp } }) });
  const ask = (content: string, options: object = {}) =>
    end(host.ask("thread_1", content, { agent: "front", ...options }));
  await end((await ask("Is it paid?")).result);
  const [first] = await logOf(store, "thread_1");
  await end((await ask("Good morning.", { branch: { before: first?.id, lane: "b" } })).result);
  isBroken = true;
  const asks = shown.length;
  await expect(ask("And later?", { branch: { lane: "default" } })).rejects.toMatchObject({ retryable: false });
  expect(shown).toHaveLength(asks);
  isBroken = false;
  expect((await end((await ask("And later?", { branch: { lane: "default" } })).result)).text).toBe(
    "It was paid in May.",
  );
  await end(host.stop());
});

test("agents that hand over to each other are named, and the one that has the thread last stays", async () => {
  const shown: Shown[] = [];
  const once =
    (name: string, words: string): Rules =>
    (prompt) =>
      prompt.split(`is with ${name} now`).length > 1 ? words : { calls: [[`to_${name}`, 0]] };
  const back = handoff("front", { description: "Everything else" });
  const billing = ruled("billing", shown, once("front", "Bye."), { tools: { to_front: back } });
  const tools = { to_billing: handoff(billing, { description: DESCRIPTION }) };
  const front = ruled("front", shown, once("billing", "Hello again."), { tools });
  const { host: make, end } = await house();
  const host = make({ agents: { front } });
  const request = await end(host.ask("thread_1", "Go."));
  expect((await end(request.result)).text).toBe("Hello again.");
  expect(shown.map(({ agent }) => agent)).toEqual(["front", "billing", "front"]);
  await end(host.stop());
});

test("of two handoffs in one answer the first counts, and the model reads why the other did not", async () => {
  const shown: Shown[] = [];
  const billing = ruled("billing", shown, () => "Billing here.");
  const sales = ruled("sales", shown, () => "Sales here.");
  const tools = {
    billing: handoff(billing, { description: "Invoices" }),
    sales: handoff(sales, { description: "Offers" }),
  };
  const front = ruled("front", shown, () => ({ calls: [["billing", 0], ["sales", 1]] }), { tools }); // biome-ignore format: one line
  const { host: make, end, store } = await house();
  const host = make({ agents: { front } });
  const request = await end(host.ask("thread_1", "Go."));
  expect((await end(request.result)).text).toBe("Billing here.");
  const results = resultsIn(await logOf(store, "thread_1"));
  expect(results[0]).toEqual(["billing", "The conversation is with billing now."]);
  expect(results[1]?.[1]).toContain("another call has handed the conversation over");
  await end(host.stop());
});

test("a handoff without a host, or to an agent that the host does not serve, is an error for the model", async () => {
  const rules: Rules = (prompt) => (prompt.includes("cannot be handed over") ? "I answer." : { calls: [["on", 0]] });
  const on = handoff("nowhere", { description: "On" });
  const front = ruled("front", [], rules, { tools: { on } });
  const { host: make, end, store, ports } = await house();
  expect(() => make({ agents: { front } })).toThrow(/hands over to "nowhere", which this host does not serve/);
  const host = make({ agents: { front: ruled("front", [], rules) } });
  const request = await end(host.ask("thread_1", "Go.", { tools: { on } }));
  expect((await end(request.result)).text).toBe("I answer.");
  expect(resultsIn(await logOf(store, "thread_1"))[0]?.[1]).toContain("unknown_agent");
  await end(host.stop());
  const server = await end(AgentServer.start({ agent: front, store, ports, threadId: "thread_2" }));
  const alone = await end(server.ask("Go."));
  expect((await end(alone.result)).text).toBe("I answer.");
  expect(resultsIn(await logOf(store, "thread_2"))[0]?.[1]).toContain("agent_tool_needs_host");
  await end(server.stop());
});

test("the context and the tools of an ask stay, and what it says of the calls was for its own agent", async () => {
  const shown: Shown[] = [];
  const seen: unknown[] = [];
  const execute = (_: unknown, { context }: ToolOptions<{ readonly user: string }>): string => {
    seen.push(context.user);
    return "paid in May";
  };
  const lookUp = defineTool({ inputSchema: anything, execute });
  const prompt = ({ user }: { readonly user: string }): string => `You are billing, for ${user}.`;
  const { front } = desk(shown, { modes: { brief: { systemPrompt: "Brief." } } }, { tools: {}, systemPrompt: prompt });
  const { host: make, end } = await house();
  const host = make({ agents: { front } });
  const options = {
    context: { user: "Ada" },
    tools: { lookUp },
    allowedTools: ["toBilling"],
    mode: "brief",
    toolChoice: "none",
  };
  const request = await end(host.ask("thread_1", "Is it paid?", { agent: "front", ...options } as object));
  expect((await end(request.result)).text).toBe("It was paid in May.");
  expect(seen).toEqual(["Ada"]);
  expect(shown[1]?.prompt).toContain("You are billing, for Ada.");
  await end(host.stop());
});

test("a next agent that cannot start fails the request, and the thread is usable", async () => {
  let isBroken = true;
  const systemPrompt = (): string => {
    if (isBroken) throw new Error("no prompt");
    return "You are billing.";
  };
  const { host: make, end } = await house();
  const host = make({ agents: desk([], {}, { systemPrompt }) });
  const request = await end(host.ask("thread_1", "Is it paid?", { agent: "front" }));
  await expect(end(request.result)).rejects.toMatchObject({
    code: "request_failed",
    failure: { code: "system_prompt_failed" },
  });
  isBroken = false;
  const again = await end(host.continueRequest("thread_1", request.id));
  expect((await end(again.result)).text).toBe("It was paid in May.");
  await end(host.stop());
});

test("a request is cancelled while its next agent starts", async () => {
  const hangs = Promise.withResolvers<void>();
  const systemPrompt = (): Promise<string> => {
    hangs.resolve();
    return new Promise(() => undefined);
  };
  const { host: make, end } = await house();
  const host = make({ agents: desk([], {}, { systemPrompt }) });
  const request = await end(host.ask("thread_1", "Is it paid?", { agent: "front" }));
  const result = expect(request.result).rejects.toMatchObject({ code: "request_cancelled" });
  await end(hangs.promise);
  await end(host.cancel("thread_1"));
  await end(result);
  await end(host.stop());
});

test("a handoff that a person approves in another process", async () => {
  const shown: Shown[] = [];
  const { host: make, end } = await house();
  const billing = ruled("billing", shown, () => "Billing here.");
  const tools = { on: handoff(billing, { description: DESCRIPTION, needsApproval: true }) };
  const agents = { front: ruled("front", shown, () => ({ calls: [["on", 0]] }), { tools }), billing };
  const first = make({ agents });
  const request = await end(first.ask("thread_1", "Go.", { agent: "front" }));
  await end(request.settled());
  await end(first.stop());
  const second = make({ agents });
  const [waiting] = await end(second.waiting("thread_1"));
  await end(second.approve("thread_1", waiting?.toolCallId ?? ""));
  expect((await end(second.result("thread_1", request.id))).text).toBe("Billing here.");
  expect(shown.map(({ agent }) => agent)).toEqual(["front", "billing"]);
  await end(second.stop());
});

/** The agents of the threads that a worker takes. It releases them. */
async function taken(store: ThreadStore): Promise<readonly unknown[]> {
  const lease = await store.leases?.start({ node: "worker", ttlMs: 1_000 });
  const rows = lease === undefined ? [] : ((await store.runnable?.take({ lease, limit: 10 })) ?? []);
  for (const { threadId, epoch } of rows) await store.release(threadId, epoch);
  return rows.map(({ agent }) => agent);
}

/** An agent that pays and hands over in one answer, and the next one, which has another tool of that name. */
function payingDesk(ran: string[]): { readonly front: AnyAgent } {
  const pay = (name: string) => ({
    inputSchema: anything,
    needsApproval: true,
    execute: () => `${ran.push(name)} paid`,
  });
  const billing = ruled("billing", [], () => "Billing here.", { tools: { pay: pay("billing") } });
  const tools = { pay: pay("front"), on: handoff(billing, { description: DESCRIPTION }) };
  return { front: ruled("front", [], () => ({ calls: [["pay", 0], ["on", 1]] }), { tools }) }; // biome-ignore format: one line
}

test.each([false, true])(
  "the other calls of the answer are those of the agent before, restarted: %s",
  async (restarts) => {
    const ran: string[] = [];
    const { host: make, end, store } = await house();
    let host = make({ agents: payingDesk(ran) });
    const request = await end(host.ask("thread_1", "Go.", { agent: "front" }));
    await end(request.settled());
    expect(resultsIn(await logOf(store, "thread_1")).map(([name]) => name)).toEqual(["on"]);
    expect(await end(host.steer("thread_1", "Quick."))).toMatchObject({ accepted: true });
    if (restarts) {
      await end(host.stop());
      host = make({ agents: payingDesk(ran) });
    }
    const [waiting] = await end(host.waiting("thread_1"));
    await end(host.approve("thread_1", waiting?.toolCallId ?? ""));
    expect((await end(host.result("thread_1", request.id))).text).toBe("Billing here.");
    expect(ran).toEqual(["front"]);
    const again = await end(host.ask("thread_1", "Again.", { agent: "front" }));
    expect((await end(again.result)).text).toBe("Billing here.");
    await end(host.stop());
  },
);

test("a request that waits with a handoff is cancelled by the process that has it", async () => {
  const { host: make, end } = await house();
  const host = make({ agents: payingDesk([]) });
  const request = await end(host.ask("thread_1", "Go.", { agent: "front" }));
  await end(request.settled());
  expect(await end(host.cancel("thread_1"))).toBe(true);
  const again = await end(host.ask("thread_1", "Again.", { agent: "front" }));
  expect((await end(again.result)).text).toBe("Billing here.");
  await end(host.stop());
});

test.each([false, true])(
  "a request that ends at the handoff leaves the thread to the next agent, restarted: %s",
  async (restarts) => {
    const shown: Shown[] = [];
    const { host: make, end, warnings } = await house();
    let host = make({ agents: desk(shown, { stopWhen: () => true }) });
    const first = await end(host.ask("thread_1", "Is it paid?", { agent: "front" }));
    expect(await end(first.result)).toMatchObject({ terminationReason: "stopped" });
    if (restarts) {
      await end(host.stop());
      host = make({ agents: desk(shown) });
    }
    const request = await end(host.ask("thread_1", "Is it paid?", { agent: "front" }));
    expect((await end(request.result)).text).toBe("It was paid in May.");
    expect(shown.map(({ agent }) => agent)).toEqual(["front", "billing", "billing"]);
    expect(warnings.filter((warning) => !warning.includes("window"))).toEqual([]);
    await end(host.stop());
  },
);

test("a request is cancelled between the handoff and the call of the next agent", async () => {
  const checks = Promise.withResolvers<void>();
  const stopWhen = (): Promise<boolean> => {
    checks.resolve();
    return new Promise(() => undefined);
  };
  const { host: make, end } = await house();
  const host = make({ agents: desk([], { stopWhen }) });
  const request = await end(host.ask("thread_1", "Is it paid?", { agent: "front" }));
  const result = expect(request.result).rejects.toMatchObject({ code: "request_cancelled" });
  await end(checks.promise);
  expect(await end(host.cancel("thread_1"))).toBe(true);
  await end(result);
  await end(host.stop());
});

test("a mode and a model that were set for an agent before do not hold for the next one", async () => {
  const shown: Shown[] = [];
  const { host: make, end } = await house();
  const { front } = desk(shown, { modes: { brief: { systemPrompt: "Brief." } } });
  const named = defineAgent({ ...front, models: { large: front.model as ProviderModel } }) as AnyAgent;
  let host = make({ agents: { front: named } });
  const server = await end(host.get("thread_1", { agent: "front" }));
  await end(server.setMode("brief"));
  await end(server.setModel("large"));
  for (const _ of [1, 2]) {
    const request = await end(host.ask("thread_1", "Is it paid?", { agent: "front" }));
    expect((await end(request.result)).text).toBe("It was paid in May.");
    await end(host.stop());
    host = make({ agents: { front: named } });
  }
  expect(shown.map(({ agent }) => agent)).toEqual(["front", "billing", "billing", "billing"]);
  await end(host.stop());
});

test.each([
  ["of the agent before does not hold", { totalTimeoutMs: 600 }, {}, "It was paid in May."],
  ["of the next agent takes its place", { totalTimeoutMs: 1_900 }, { totalTimeoutMs: 1_000 }, "request_timeout"],
  ["of the next agent alone holds", {}, { totalTimeoutMs: 1_000 }, "request_timeout"],
])("after a handoff, a limit of working time %s", async (_, ofFront, ofBilling, ends) => {
  const { host: make, end, ports } = await house();
  const wait = (): Promise<string> => new Promise((done) => ports.after(1_500, () => done("paid in May")));
  const lookUp = { inputSchema: anything, execute: wait };
  const host = make({ agents: desk([], ofFront, { tools: { lookUp }, ...ofBilling }) });
  const { result } = await end(host.ask("thread_1", "Is my invoice paid?", { agent: "front" }));
  const answer = result.then(
    ({ text }) => text,
    ({ failure }) => failure.code,
  );
  expect(await end(answer)).toBe(ends);
  await end(host.stop());
});

test("a limit of cost needs the prices of the next agent", async () => {
  const { host: make, end } = await house();
  const host = make({ agents: desk([], { limits: { costUsd: () => 1 } }) });
  const limits = { maxCostUsd: 100 };
  const request = await end(host.ask("thread_1", "Is it paid?", { agent: "front", limits }));
  await expect(end(request.result)).rejects.toMatchObject({ failure: { code: "invalid_options" } });
  await end(host.stop());
});

/** Plays a handoff in a process that is killed at a write. Answers the number of writes. */
async function played(n: number, when: "before" | "after"): Promise<number> {
  const asked = { content: "Is it paid?", requestId: "req_1", agent: "front" };
  const { host: make, end, pass, store, writes } = await killedAsk(n, when, { agents: desk() }, asked);
  await pass(20_000); // the lease of the killed process ends
  const log = await logOf(store, "thread_1");
  const isHandedOver = log.some(({ payload }) => "handoff" in payload) && !log.some(({ payload }) => "end" in payload);
  const where = `killed ${when} write ${n}`;
  if (isHandedOver) expect(await taken(store), where).toEqual(["billing"]);
  const second = make({ agents: desk() });
  second.work();
  const again = await end(second.ask("thread_1", "Is it paid?", { requestId: "req_1", agent: "front" }));
  expect((await end(again.result)).text, where).toBe("It was paid in May.");
  const whole = await logOf(store, "thread_1");
  expect(
    resultsIn(whole).map(([name]) => name),
    where,
  ).toEqual(["toBilling", "lookUp"]);
  expect(
    whole.filter(({ payload }) => "end" in payload),
    where,
  ).toHaveLength(1);
  await end(second.stop());
  return writes;
}

test("killed at every write of a request that is handed over, it ends once, by the next agent", async () => {
  const writes = await played(Number.POSITIVE_INFINITY, "before");
  expect(writes).toBeGreaterThan(5);
  for (let n = 1; n <= writes; n++) for (const when of ["before", "after"] as const) await played(n, when);
});
