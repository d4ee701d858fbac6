import { type AgentRequest, type EntryInput, jsonSchema, memoryStore, Thread, type ThreadStore } from "heddle";
import { chatTurn, resumeTurn, toUIMessages, type UIMessageLike } from "heddle/ai-sdk";
import { describe, expect, test, vi } from "vitest";
import { agentStories, team } from "./support/agent-stories.ts";
import { agentOf, careful, house, PAY, realTime, SECRET } from "./support/hosts.ts";

agentStories("in memory", () => undefined);

describe("a host is refused", () => {
  const sales = agentOf([], { name: "sales" });
  const unnamed = agentOf([]);
  test.each<readonly [string, object, string, string]>([
    ["with one agent and several", { agent: sales, agents: { sales } }, "invalid_options", "either"],
    ["without any", {}, "invalid_agent", "agent must"],
    ["with an empty map", { agents: {} }, "invalid_options", "agents"],
    ["with an empty list", { agents: [] }, "invalid_options", "agents"],
    ["with text", { agents: "sales" }, "invalid_agent", "agents.0"],
    ["with an agent that defineAgent has not made", { agents: { sales: {} } }, "invalid_agent", "agents.sales"],
    ["with an agent that has another name", { agents: { support: sales } }, "invalid_agent", '"sales"'],
    ["with two agents of one name", { agents: [unnamed, unnamed] }, "invalid_options", '"agent"'],
    ["with a name that no row can have", { agents: { "a/b": unnamed } }, "invalid_id", "agents.a/b"],
  ])("%s", async (_, options, code, message) => {
    const { host: make } = await house();
    expect(() => make(options)).toThrow(expect.objectContaining({ code, message: expect.stringContaining(message) }));
  });
});

test("an agent without a name has that of its key: in the log, and in its tokens", async () => {
  const { host: make, end, store } = await house(undefined, realTime());
  const agent = careful([PAY, "Paid."], { tokenSecret: SECRET }).agent;
  const host = make({ agents: { sales: agent, ...team("support") } });
  const token = await tokenOf(await end(host.ask("thread_1", "Pay", { agent: "sales" })));
  expect((await store.load("thread_1"))?.at(0)?.payload).toMatchObject({ agent: "sales" });
  await end(host.stop());
  const other = make({ agent: careful(["Paid."], { name: "sales", tokenSecret: SECRET }).agent });
  await other.approve(token, "call_p");
  expect((await end((await other.resume("thread_1"))?.result ?? Promise.reject())).text).toBe("Paid.");
  await end(other.stop());
});

async function tokenOf(request: AgentRequest): Promise<string> {
  let token = "";
  for await (const event of request.events({ until: "waiting" }))
    if (event.kind === "checkpoint") token = event.data.token;
  return token;
}

describe("a token is verified by the agent that minted it", () => {
  const secret = (name: string) => ({ tokenSecret: `${SECRET} ${name}` });

  test.each([
    ["with secrets of their own", secret("sales"), secret("support")],
    ["with one secret", secret("all"), secret("all")],
    ["of which one has none", {}, secret("support")],
  ])("of several %s", async (_, sales, support) => {
    const { host: make, end } = await house(undefined, realTime());
    const { agent, ran } = careful([PAY, "Paid."], support);
    const host = make({ agents: { sales: careful([], sales).agent, support: agent } });
    const request = await end(host.ask("thread_1", "Pay", { agent: "support" }));
    const token = await tokenOf(request);
    const forged = `${token.slice(0, -2)}${token.endsWith("AA") ? "BB" : "AA"}`;
    await expect(host.approve(forged, "call_p")).rejects.toMatchObject({ code: "invalid_token_signature" });
    const others = make({ agents: { hr: careful([], secret("hr")).agent, legal: careful([], support).agent } });
    await expect(others.approve(token, "call_p")).rejects.toMatchObject({ code: "token_config_mismatch" });
    await host.approve(token, "call_p");
    expect([(await end(request.result)).text, ran]).toEqual(["Paid.", ["call_p"]]);
    await expect(host.approve(token, "call_p")).rejects.toMatchObject({ code: "token_superseded" });
    await end(Promise.all([host.stop(), others.stop()]));
  });
});

test("a token names the agent of an ask that names none", async () => {
  const bare = memoryStore();
  const { host: make, end } = await house(withoutNames(bare), realTime());
  const { agent, ran } = careful([PAY, "Paid."], { tokenSecret: SECRET });
  const agents = { ...team("sales"), support: agent };
  const first = make({ agents });
  const token = await tokenOf(await end(first.ask("thread_1", "Pay", { agent: "support" })));
  await end(first.stop());
  const host = make({ agents });
  await expect(host.approve("thread_1", "call_p")).rejects.toMatchObject({ code: "agent_required" });
  const request = await host.resume(token);
  await host.approve(token, "call_p");
  expect([(await end(request?.result ?? Promise.reject())).text, ran]).toEqual(["Paid.", ["call_p"]]);
  await end(host.stop());
});

/** Asks are stored as version 0.1 wrote them. */
function withoutNames(store: ThreadStore): ThreadStore {
  const { append } = store;
  vi.spyOn(store, "append").mockImplementation((threadId, entries, options) => {
    const list = [entries].flat().map((entry) => {
      const { agent: _name, ...payload } = entry.payload as { readonly agent?: string };
      return { ...entry, payload };
    });
    return append.call(store, threadId, list as EntryInput[], options);
  });
  return store;
}

test("a thread that another process asks for the first time meanwhile is resumed with its agent", async () => {
  const { host: make, end, store } = await house();
  const agents = team("sales", "support");
  const first = make({ agents });
  let looks = 0;
  const pending: ThreadStore["pending"] = async (...args) => {
    const rows = await store.pending(...args); // the last thing that is looked at before the agent is chosen
    if (looks++ === 0) await end(first.ask("thread_1", "Hi", { agent: "support" }));
    return rows;
  };
  const second = make({ agents, store: { ...store, pending } });
  const request = await end(second.resume("thread_1"));
  expect(looks).toBeGreaterThan(0);
  if (request !== undefined) expect((await end(request.result)).text).toBe("support here.");
  await end(Promise.all([first.stop(), second.stop()]));
});

test("an ended request has the output of its agent, also while another process holds the thread", async () => {
  const { host: make, end } = await house();
  const output = jsonSchema<{ n: number }>({ type: "object", properties: { n: { type: "number" } } });
  const agents = { ...team("sales"), support: agentOf(['{"n":1}'], { output }) };
  const [holder, other] = [make({ agents }), make({ agents })];
  await end((await end(holder.ask("thread_1", "Count", { agent: "support", requestId: "r1" }))).result);
  const known = await end(other.ask("thread_1", "Count", { requestId: "r1" }));
  expect((await end(known.result)).object).toEqual({ n: 1 });
  await end(Promise.all([holder.stop(), other.stop()]));
});

describe("a chat", () => {
  const words = (text: string, id = "m1") => [{ id, role: "user", parts: [{ type: "text", text }] }];

  test("passes the agent on, and needs it only for the first message", async () => {
    const { host: make, end } = await house();
    const host = make({ agents: team("sales", "support") });
    expect(await end(resumeTurn(host, "thread_1"))).toBeUndefined();
    await expect(end(chatTurn(host, "thread_1", words("Hi")))).rejects.toMatchObject({ code: "agent_required" });
    for (const options of [{ agent: "sales" }, {}]) {
      const turn = await end(chatTurn(host, "thread_1", words("Hi", `m${Object.keys(options).length}`), options));
      expect((await end(turn.request.result)).text).toBe("sales here.");
    }
    const wrong = chatTurn(host, "thread_1", words("Hi", "m3"), { agent: "support" });
    await expect(end(wrong)).rejects.toMatchObject({ code: "agent_mismatch" });
    await end(host.stop());
  });

  test("decides on a call of an ask that names no agent, with the agent of the post", async () => {
    const { host: make, end, store } = await house();
    const { agent, ran } = careful([PAY, "Paid."]);
    const first = make({ agents: { sales: agent, ...team("support") } });
    const asked = await end(first.ask("thread_1", "Pay", { agent: "sales" }));
    for await (const _event of asked.events({ until: "waiting" }));
    await end(first.stop());
    const [ask, ...rest] = (await store.load("thread_1"))?.toArray() ?? [];
    const { agent: _name, ...payload } = (ask?.payload ?? {}) as { readonly agent?: string };
    const copies = [{ ...ask, payload }, ...rest] as EntryInput[]; // with their ids
    await store.append("thread_2", copies.map(({ kind, payload, refs }) => ({ kind, payload, refs })) as EntryInput[]);
    const host = make({ agents: { sales: agent, ...team("support") } });
    const answer = toUIMessages((await store.load("thread_2")) ?? Thread.create()).at(-1);
    const parts = answer?.parts.map((part) =>
      "approval" in part
        ? { ...part, state: "approval-responded", approval: { id: part.approval?.id, approved: true } }
        : part,
    );
    const posted = [{ ...answer, parts }] as readonly UIMessageLike[];
    await expect(end(chatTurn(host, "thread_2", posted))).rejects.toMatchObject({ code: "agent_required" });
    const turn = await end(chatTurn(host, "thread_2", posted, { agent: "sales" }));
    expect([(await end(turn.request.result)).text, ran]).toEqual(["Paid.", ["call_p"]]);
    await end(host.stop());
  });
});

test("a stopped host does not wait for a store that never says which agent a thread has", async () => {
  const { host: make, end, store } = await house();
  const host = make({ agent: agentOf([]) });
  vi.spyOn(store, "read").mockImplementationOnce(
    () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => undefined) }) }) as never,
  );
  const asked = host.ask("thread_1", "Hi");
  const refused = expect(asked).rejects.toMatchObject({ code: "server_stopped" });
  await end(host.stop());
  await refused;
});

test("the newest ask is found behind many messages, and only a few are read for a short request", async () => {
  const { host: make, end, store } = await house();
  const calls = Array.from({ length: 20 }, (_, n) => ({ calls: [{ id: `c${n}`, name: "ask" }] }));
  const tools = { ask: { inputSchema: { type: "object" }, execute: () => "yes" } };
  const support = make({ agent: agentOf([...calls, "Done."], { name: "support", tools }) });
  await end((await end(support.ask("thread_1", "Hi"))).result);
  await end((await end(support.ask("thread_2", "Hi"))).result.catch(() => undefined));
  await end(support.stop());
  const read = vi.spyOn(store, "read");
  const sales = make({ agent: agentOf([], { name: "sales" }) });
  await expect(end(sales.ask("thread_1", "Hi"))).rejects.toMatchObject({ code: "unknown_agent" });
  expect(read.mock.calls.map(([, options]) => options?.limit)).toEqual([8, 128]);
  await end(sales.stop());
});
