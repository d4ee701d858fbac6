import { type AgentHost, AgentServer, type AnyAgent, type Entry, type ThreadStore } from "heddle";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { ASK, agentOf, anything, careful, type House, house, PAY, realTime } from "./hosts.ts";

type Story = House & {
  /** The answer to an ask. */
  answer(host: AgentHost, threadId: string, options?: object): Promise<string>;
  log(threadId?: string): Promise<readonly Entry[]>;
  names(threadId?: string): Promise<readonly unknown[]>;
};

const T = "thread_1";
const PROMPT = { expect: { system: "Be brief." }, text: "Support here." } as const;
const code = (name: string) => expect.objectContaining({ code: name });
const old = (requestId: string) => ({
  kind: "ai_message",
  payload: { role: "user", content: "Hi", contextRef: "main", requestId, runId: "run_old" },
  refs: { requestId, runId: "run_old" },
});

/** Agents by name; each answers with its name. */
export function team(...names: readonly string[]): { readonly [name: string]: AnyAgent } {
  return Object.fromEntries(names.map((name) => [name, agentOf(Array.from({ length: 9 }, () => `${name} here.`))]));
}

/** Hosts with agents by name, on stores of one kind. */
export function agentStories(kind: string, open: () => ThreadStore | undefined): void {
  async function story(): Promise<Story> {
    const store = open();
    if (store !== undefined) onTestFinished(() => store.close());
    const own = await house(store, store && realTime());
    const log = async (threadId = T) => (await own.store.load(threadId))?.toArray() ?? [];
    return {
      ...own,
      log,
      answer: async (host, threadId, options = {}) =>
        (await own.end((await own.end(host.ask(threadId, "Hi", options))).result)).text,
      names: async (threadId) =>
        (await log(threadId)).flatMap(({ payload }) => ("agent" in payload ? [payload["agent"]] : [])),
    };
  }

  describe(`a host with several agents, ${kind}`, () => {
    test("the first ask of a thread names its agent, and later asks and other processes find it in the log", async () => {
      const { host: make, end, answer, log, names } = await story();
      const first = make({ agents: team("sales", "support") });
      expect(await answer(first, T, { agent: "support" })).toBe("support here.");
      expect(await answer(first, T)).toBe("support here.");
      expect(await answer(first, T, { agent: "support" })).toBe("support here.");
      const before = await log();
      await expect(end(first.ask(T, "Hi", { agent: "sales" }))).rejects.toEqual(code("agent_mismatch"));
      await end(first.stop());
      const second = make({ agents: Object.values(team("support", "sales")).map((each, n) => renamed(each, n)) });
      await expect(end(second.ask(T, "Hi", { agent: "sales" }))).rejects.toEqual(code("agent_mismatch"));
      await expect(end(second.get(T, { agent: "sales" }))).rejects.toEqual(code("agent_mismatch"));
      expect(await log()).toEqual(before);
      expect(await answer(second, T)).toBe("support here.");
      expect(await names()).toEqual(["support", "support", "support", "support"]);
      await end(second.stop());
    });

    test("a new thread without a name, or with one that is not served, is refused, and nothing is written or claimed", async () => {
      const { host: make, end, store } = await story();
      const host = make({ agents: team("sales", "support") });
      const claim = vi.spyOn(store, "claim");
      const refused: readonly Promise<unknown>[] = [
        host.ask(T, "Hi"),
        host.get(T),
        host.steer(T, "Hi"),
        host.approve(T, "call_1"),
        host.explain(T),
        host.view(T),
        host.ask(T, "Hi", { agent: "legal" }),
        host.get(T, { agent: "legal" }),
      ];
      const required = [
        "agent_required",
        "agent_required",
        "agent_required",
        "agent_required",
        "agent_required",
        "agent_required",
      ];
      expect(await end(codesOf(refused))).toEqual([...required, "unknown_agent", "unknown_agent"]);
      expect([await end(host.resume(T)), await end(host.cancel(T))]).toEqual([undefined, false]);
      expect([await end(host.waiting(T)), (await end(host.thread(T))).entryCount]).toEqual([[], 0]);
      expect((await end(host.usage(T))).asks).toBe(0);
      expect(await store.load(T)).toBeUndefined();
      expect([claim.mock.calls.length, host.size]).toEqual([0, 0]);
      await end(host.stop());
    });

    test("callers that come at once each get an answer to their own choice", async () => {
      const { host: make, end } = await story();
      const host = make({ agents: team("sales", "support") });
      const asked = [{ agent: "legal" }, {}, { agent: "sales" }].map((options) => host.ask(T, "Hi", options));
      const [unknown, unnamed, taken] = await end(Promise.allSettled(asked));
      expect(unknown).toMatchObject({ reason: { code: "unknown_agent" } });
      expect(unnamed).toMatchObject({ reason: { code: "agent_required" } });
      if (taken?.status !== "fulfilled") throw new Error("refused");
      expect((await end(taken.value.result)).text).toBe("sales here.");
      await end(host.stop());
    });

    test("hosts of other agents neither claim a thread nor act on it, and can read its entries", async () => {
      const { host: make, end, store, log, names } = await story();
      const { agent } = careful([PAY], { name: "support" });
      const support = make({ agent });
      const request = await end(support.ask(T, "Pay"));
      for await (const _event of request.events({ until: "waiting" }));
      await end(support.stop());
      const before = await log();
      const claim = vi.spyOn(store, "claim");
      for (const host of [make({ agents: team("sales", "legal") }), make({ agent: agentOf([], { name: "sales" }) })]) {
        const calls: readonly Promise<unknown>[] = [
          host.ask(T, "Hi"),
          host.get(T),
          host.resume(T),
          host.cancel(T),
          host.approve(T, "call_p"),
          host.deny(T, "call_p"),
          host.steer(T, "Hi"),
          host.waiting(T),
          host.explain(T),
          host.view(T),
          host.usage(T),
        ];
        expect(await end(codesOf(calls))).toEqual(calls.map(() => "unknown_agent"));
        expect((await end(host.thread(T))).toArray()).toEqual(before);
        await end(host.stop());
      }
      expect([claim.mock.calls.length, await log(), await names()]).toEqual([0, before, ["support"]]);
    });

    test("a worker takes the threads of the agents of the host, each with its agent, and leaves those of others", async () => {
      const { host: make, end, store, warnings } = await story();
      const hang = [{ hang: true }, { hang: true }, { hang: true }] as const;
      const crashed = make({ agents: { sales: agentOf(hang), support: agentOf(hang), legal: agentOf(hang) } });
      for (const agent of ["sales", "support", "legal"]) await end(crashed.ask(`thread_${agent}`, "Hi", { agent }));
      await end(crashed.stop({ graceMs: 0 }));
      await store.append("thread_old", old("req_old"), { metadata: { status: "running" }, next: {} });
      const host = make({ agents: team("sales", "support") });
      const claim = vi.spyOn(store, "claim");
      host.work();
      const completed = async () =>
        (await store.list({ status: "completed", order: "id" })).threads.map(({ id }) => id);
      await expect.poll(() => end(completed())).toEqual(["thread_sales", "thread_support"]);
      expect(claim.mock.calls.map(([threadId]) => threadId).toSorted()).toEqual(await completed());
      expect(warnings).toEqual([]);
      for (const agent of ["sales", "support"]) {
        const result = (await end(host.get(`thread_${agent}`))).request?.result;
        if (result !== undefined) await end(result);
        expect((await store.load(`thread_${agent}`))?.last()?.payload).toMatchObject({ content: `${agent} here.` });
      }
      await end(host.stop());
    });

    test("an ask of another process between the look at the log and the claim decides", async () => {
      for (const [mine, theirs] of [
        ["sales", "support"],
        [undefined, "support"],
        ["support", "support"],
        ["sales", "legal"],
      ] as const) {
        const { host: make, end, store, answer, names, isFree, ports } = await story();
        const other = make({ agents: team("support", "legal") });
        const agents = mine === undefined ? team("sales") : team("sales", "support");
        const host = make({ agents });
        const claim = store.claim.bind(store);
        vi.spyOn(store, "claim").mockImplementationOnce(async (...given) => {
          const isWaited = ports.after(60_000, () => undefined); // the claim is under way
          await answer(other, T, { agent: theirs });
          await end(other.stop());
          isWaited();
          return claim(...given);
        });
        const asked = answer(host, T, { agent: mine }).catch((error: { readonly code: string }) => error.code);
        if (mine === theirs) expect(await asked).toBe("support here.");
        else expect(await asked).toBe(mine === undefined || theirs === "legal" ? "unknown_agent" : "agent_mismatch");
        if (mine === theirs) expect(await names()).toEqual(["support", "support"]);
        else expect([await names(), host.size, await isFree(T)]).toEqual([[theirs], 0, true]);
        await end(host.stop());
      }
    });

    test("a live thread without asks gets the agent that the first ask names, with what was set", async () => {
      const { host: make, end, answer, names } = await story();
      const host = make({ agents: { ...team("sales"), support: agentOf([PROMPT, { hang: true }]) } });
      const server = await end(host.get(T, { agent: "sales" }));
      await end(server.setSystemPrompt("Be brief."));
      await expect(end(host.ask(T, "Hi"))).rejects.toEqual(code("agent_required")); // as in any other process
      await expect(end(host.get(T))).rejects.toEqual(code("agent_required"));
      expect(await answer(host, T, { agent: "support" })).toBe("Support here.");
      await expect(end(host.ask(T, "Hi", { agent: "sales" }))).rejects.toEqual(code("agent_mismatch"));
      await expect(end(server.ask("Hi"))).rejects.toEqual(code("server_stopped"));
      const open = await end(host.ask(T, "Hi"));
      await expect(end(host.get(T, { agent: "sales" }))).rejects.toEqual(code("agent_mismatch"));
      expect([await names(), open.state]).toEqual([["support", "support"], "running"]);
      await end(host.stop({ graceMs: 0 }));
    });

    test("a thread that was deleted under a live host is a new one, for any agent", async () => {
      const { host: make, end, store, answer, names } = await story();
      const host = make({ agents: team("sales", "support") });
      expect(await answer(host, T, { agent: "sales" })).toBe("sales here.");
      await end(store.delete(T));
      expect(await answer(host, T, { agent: "support" })).toBe("support here.");
      expect([await names(), await answer(host, T)]).toEqual([["support"], "support here."]);
      await end(host.stop());
      const next = make({ agents: team("sales", "support") });
      expect(await answer(next, T)).toBe("support here.");
      await end(store.delete(T));
      expect([await answer(next, T, { agent: "sales" }), await names()]).toEqual(["sales here.", ["sales"]]);
      await end(next.stop());
    });

    test("an open request of an ask without a name is resumed by the only agent, or by the agent that a caller names", async () => {
      for (const agents of [team("sales"), team("sales", "support")]) {
        const { host: make, end, store, log } = await story();
        await store.append(T, old("req_1"), { metadata: { status: "running" } });
        const host = make({ agents });
        if (agents["support"] !== undefined) {
          const calls: readonly Promise<unknown>[] = [
            host.ask(T, "Hi"),
            host.resume(T),
            host.cancel(T),
            host.waiting(T),
          ];
          expect(await end(codesOf(calls))).toEqual(calls.map(() => "agent_required"));
          const { request } = await end(host.get(T, { agent: "sales" }));
          if (request !== undefined) await end(request.result);
        } else await end((await end(host.resume(T)))?.result ?? Promise.reject(new Error("not resumed")));
        expect((await log()).at(-1)?.payload).toMatchObject({ content: "sales here." });
        await end(host.stop());
      }
    });

    test("a request is continued by the agent of its thread, and the note of it names the agent as an ask does", async () => {
      const { host: make, end, store, ports, answer, names } = await story();
      const failing = { error: { status: 400, message: "Bad key." } } as const;
      const host = make({ agents: { ...team("sales"), support: agentOf([failing, failing, "Support here."]) } });
      await end((await end(host.ask(T, "Hi", { agent: "support", requestId: "req_1" }))).result.catch(() => undefined));
      const { id, result } = await end(host.continueRequest(T, "req_1"));
      await end(result.catch(() => undefined));
      await end(host.stop());
      const agent = agentOf(["Sales server."], { name: "sales" });
      const server = await end(AgentServer.start({ agent, store, threadId: T, ports }));
      await end((await end(server.continueRequest(id))).result);
      await end(server.stop());
      const next = make({ agents: team("sales", "support") });
      expect(await answer(next, T)).toBe("sales here.");
      expect(await names()).toEqual(["support", "support", "sales", "sales"]);
      await end(next.stop());
    });

    test("an open request of an ask without a name keeps the agent that resumed it", async () => {
      const { host: make, end, store } = await story();
      await store.append(T, old("req_1"), { metadata: { status: "running" } });
      const host = make({ agents: { ...team("support"), sales: agentOf([{ hang: true }]) } });
      const server = await end(host.get(T, { agent: "sales" }));
      await expect(end(host.ask(T, "Hi", { agent: "support" }))).rejects.toEqual(code("agent_mismatch"));
      expect([(await end(host.resume(T)))?.id, server.request?.state]).toEqual(["req_1", "running"]);
      expect(await end(host.cancel(T))).toBe(true);
      await end(host.stop());
    });

    test("a request that waits is decided by the agent of its thread, here and from another process", async () => {
      const { host: make, end, answer, log } = await story();
      const { agent, ran } = careful([{ calls: [...PAY.calls, ...ASK.calls] }, "Paid."]);
      const sales = agentOf([], { tools: { ask: { inputSchema: anything, execute: () => "no" } } });
      const holder = make({ agents: { sales, support: agent } });
      const other = make({ agents: { sales, support: careful([]).agent } });
      const request = await end(holder.ask(T, "Pay", { agent: "support", requestId: "req_1" }));
      for await (const _event of request.events({ until: "waiting" }));
      expect((await end(other.waiting(T))).map(({ kind }) => kind)).toEqual(["approval", "answer"]);
      await end(other.answer(T, "call_q", "yes")); // in `sales` this tool would run
      await end(other.approve(T, "call_p"));
      expect((await end(request.result)).text).toBe("Paid.");
      expect([ran, await answer(other, T, { requestId: "req_1", agent: "support" }).catch(String)]).toEqual([
        ["call_p"],
        expect.stringContaining("content"),
      ]);
      const again = await end(other.ask(T, "Pay", { requestId: "req_1" })); // `holder` has the thread
      expect((await end(again.result)).text).toBe("Paid.");
      expect((await log()).filter(({ payload }) => "agent" in payload)).toHaveLength(1);
      await end(Promise.all([holder.stop(), other.stop()]));
    });

    test("the functions `context`, `tools` and `headers` of the host get the name of the agent", async () => {
      const { host: make, end } = await story();
      const hang = [{ hang: true }, { hang: true }] as const;
      const crashed = make({ agents: { sales: agentOf(hang), support: agentOf(hang) } });
      for (const agent of ["sales", "support"])
        await end(crashed.ask(`thread_${agent}`, "Hi", { agent, headers: { "x-a": "1" } }));
      await end(crashed.stop({ graceMs: 0 }));
      const given: unknown[] = [];
      const host = make({
        agents: team("sales", "support"),
        context: ((threadId: string, _refs: unknown, agent: string) =>
          given.push(["context", threadId, agent])) as never,
        tools: (threadId, _refs, agent) => {
          given.push(["tools", threadId, agent]);
          return {};
        },
        headers: (threadId, _refs, agent) => {
          given.push(["headers", threadId, agent]);
          return { "x-a": "1" };
        },
      });
      for (const name of ["sales", "support"])
        await end((await end(host.resume(`thread_${name}`)))?.settled() ?? never());
      const of = (name: string) => ["context", "tools", "headers"].map((what) => [what, `thread_${name}`, name]);
      expect(given).toEqual([...of("sales"), ...of("support")]);
      await end(host.stop());
    });

    test("a server of any agent takes a thread, and the newest ask names its agent from then on", async () => {
      const { host: make, end, store, ports, answer } = await story();
      const host = make({ agents: team("sales", "support"), idleMs: 0 });
      expect(await answer(host, T, { agent: "sales" })).toBe("sales here.");
      await end(host.stop());
      const agent = agentOf(["Support server."], { name: "support" });
      const server = await end(AgentServer.start({ agent, store, threadId: T, ports }));
      await end((await end(server.ask("Hi"))).result);
      await end(server.stop());
      const next = make({ agents: team("sales", "support") });
      expect(await answer(next, T)).toBe("support here.");
      await end(next.stop());
    });
  });
}

function codesOf(calls: readonly Promise<unknown>[]): Promise<readonly unknown[]> {
  return Promise.all(calls.map((call) => call.catch((error: { readonly code: string }) => error.code)));
}

function renamed(agent: AnyAgent, index: number): AnyAgent {
  return Object.freeze({ ...agent, name: ["support", "sales"][index] ?? "" });
}

function never(): Promise<never> {
  return Promise.reject(new Error("There was no request."));
}
