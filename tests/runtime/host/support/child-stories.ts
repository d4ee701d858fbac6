import { AgentServer, agentTool, defineTool, type ThreadStore } from "heddle";
import { describe, expect, onTestFinished, test } from "vitest";
import { childrenOf, logOf, resultsIn, threeChildren } from "./family.ts";
import { agentOf, anything, careful, type House, house, PAY, realTime } from "./hosts.ts";

const T = "thread_1";
const task = (text: string) => ({ calls: [{ id: "call_1", name: "research", arguments: { task: text } }] });
const code = (name: string) => expect.objectContaining({ code: name });

/** Stories of agents that ask agents, on stores of one kind. */
export function childStories(kind: string, open: () => ThreadStore | undefined): void {
  async function story(): Promise<House & { statuses(): Promise<readonly unknown[]> }> {
    const store = open();
    if (store !== undefined) onTestFinished(() => store.close());
    const own = await house(store, store && realTime());
    const statuses = async () => (await own.store.list({ order: "id" })).threads.map(({ status }) => status);
    return { ...own, statuses };
  }

  const lead = (child: ReturnType<typeof agentOf>, script: Parameters<typeof agentOf>[0], config: object = {}) =>
    agentOf(script, { name: "lead", tools: { research: agentTool(child, { description: "Finds facts" }) }, ...config });
  const hanging = () => agentOf([{ hang: true }, { hang: true }], { name: "researcher" });

  describe(`an agent that asks agents, ${kind}`, () => {
    test("asks each on a thread of its own, linked by refs, and reads each answer once", async () => {
      const { host: make, end, store } = await story();
      const host = make({ agent: threeChildren() });
      await store.append(T, [], { owner: "ada" });
      const request = await end(host.ask(T, "Go.", { refs: { order: "o_1" } }));
      const { text, usage } = await end(request.result);
      expect([text, usage.inputTokens, usage.outputTokens]).toEqual(["sun moon star", 50, 25]);
      const log = await logOf(store, T);
      expect(
        resultsIn(log)
          .map(([name]) => name)
          .toSorted(),
      ).toEqual(["moon", "star", "sun"]);
      const { threads } = await store.list({ order: "id", prefix: "child_" });
      expect(threads.map(({ owner, status }) => [owner, status])).toEqual([1, 2, 3].map(() => ["ada", "completed"]));
      expect((await store.list({ order: "id", parent: T })).threads).toEqual(threads);
      expect((await store.list({ parent: null })).threads.map(({ id }) => id)).toEqual([T]);
      const asks = await Promise.all(threads.map(async ({ id }) => (await logOf(store, id))[0]?.refs));
      expect(asks.map((refs) => refs?.parentCallId).toSorted()).toEqual(["call_0", "call_1", "call_2"]);
      for (const refs of asks) expect(refs).toMatchObject({ parentThreadId: T, order: "o_1" });
      const all = await end(host.usage(T));
      expect([all.asks, all.usage.inputTokens]).toEqual([1, 50]);
      await end(host.stop());
    });

    test("a child that fails, or whose ask is refused, gives a failed result with the reason", async () => {
      const { host: make, end, store } = await story();
      const failing = agentOf([{ error: { status: 400, message: "Bad key." } }], { name: "researcher" });
      const refusing = agentOf([], { name: "researcher", accept: () => "Not today." });
      for (const [threadId, child, why] of [
        ["failed", failing, "model_"],
        ["refused", refusing, "Not today."],
      ] as const) {
        const host = make({ agent: lead(child, [task("x"), "No luck."]) });
        const request = await end(host.ask(threadId, "Go."));
        expect((await end(request.result)).text).toBe("No luck.");
        const [result] = (await logOf(store, threadId)).filter(
          ({ payload }) => "toolCallId" in payload && payload.role === "tool",
        );
        expect(result?.payload).toMatchObject({ isError: true, content: expect.stringContaining(why) });
        await end(host.stop());
      }
    });

    test("a child that ends early says so", async () => {
      const { host: make, end, store } = await story();
      const look = defineTool({ inputSchema: anything, execute: () => "seen" });
      const child = agentOf([{ text: "So far.", calls: [{ name: "look" }] }], {
        name: "researcher",
        maxIterations: 1,
        tools: { look },
      });
      const host = make({ agent: lead(child, [task("x"), "Done."]) });
      await end((await end(host.ask(T, "Go."))).result);
      expect(resultsIn(await logOf(store, T))).toEqual([
        ["research", "So far.\n[The agent ended early: max_iterations.]"],
      ]);
      await end(host.stop());
    });

    test("a cancel of the parent cancels its open children", async () => {
      const { host: make, end, statuses } = await story();
      const host = make({ agent: lead(hanging(), [task("x")]) });
      const request = await end(host.ask(T, "Go."));
      await expect.poll(() => end(statuses())).toEqual(["running", "running"]);
      await end(host.cancel(T));
      await expect(end(request.result)).rejects.toEqual(code("request_cancelled"));
      await expect.poll(() => end(statuses())).toEqual(["cancelled", "cancelled"]);
      await end(host.stop());
    });

    test("a steer that skips the calls cancels the child, and the model continues", async () => {
      const { host: make, end, store, statuses } = await story();
      const host = make({ agent: lead(hanging(), [task("x"), "As you like."]) });
      const request = await end(host.ask(T, "Go."));
      await expect.poll(() => end(statuses())).toEqual(["running", "running"]);
      await end(host.steer(T, "Stop that.", { skip: true }));
      expect((await end(request.result)).text).toBe("As you like.");
      await expect.poll(() => end(statuses())).toEqual(["cancelled", "completed"]);
      const [[, content] = []] = resultsIn(await logOf(store, T));
      expect(content).toContain("waited for another agent");
      await end(host.stop());
    });

    test("an approval of a child is in waiting() of the parent, and both continue with its decision", async () => {
      for (const [decision, text] of [
        ["approve", "Paid."],
        ["deny", "Not paid."],
      ] as const) {
        const { host: make, end, store, statuses } = await story();
        const { agent: payer, ran } = careful([PAY, text], { name: "payer" });
        const host = make({ agent: lead(payer, [task("Pay."), "Done."]) });
        const request = await end(host.ask(T, "Go."));
        await expect.poll(() => end(host.waiting(T))).toHaveLength(1);
        const [child = ""] = await childrenOf(store);
        const [call] = await end(host.waiting(T));
        expect(call).toMatchObject({ threadId: child, toolCallId: "call_p", kind: "approval" });
        expect(call?.requestId).toBe((await host.waiting()).calls[0]?.requestId); // that of the child
        expect([await statuses(), request.state]).toEqual([["waiting", "running"], "running"]);
        expect(await end(make({ agent: lead(payer, []) }).waiting(T))).toEqual([call]); // from the log
        await expect(end(host.approve(T, "call_1"))).rejects.toEqual(code("not_waiting"));
        await end(host[decision](child, "call_p"));
        expect((await end(request.result)).text).toBe("Done.");
        expect([ran.length, resultsIn(await logOf(store, T))]).toEqual([
          decision === "approve" ? 1 : 0,
          [["research", text]],
        ]);
        expect(await end(host.waiting(T))).toEqual([]);
        await end(host.stop());
      }
    });

    test("the usage of a child counts for the limits of the parent, and it gets what is left of them", async () => {
      const { host: make, end, store } = await story();
      const used = { usage: { inputTokens: 50, outputTokens: 10 } };
      const child = agentOf([{ text: "42", ...used }], { name: "researcher", limits: { maxTokens: 1_000 } });
      const agent = lead(child, [{ ...task("x"), ...used }, "Never."], { limits: { maxTokens: 100 } });
      const host = make({ agent });
      const result = await end((await end(host.ask(T, "Go."))).result);
      expect([result.terminationReason, result.usage.inputTokens]).toEqual(["limit", 100]);
      const [id = ""] = await childrenOf(store);
      expect((await logOf(store, id))[0]?.payload).toMatchObject({ options: { limits: { maxTokens: 40 } } });
      await end(host.stop());
    });

    test("agents of agents: usage, approvals and cancels reach through", async () => {
      const { host: make, end, store, statuses } = await story();
      const { agent: payer } = careful([PAY, "Paid."], { name: "payer" });
      const middle = lead(payer, [task("Pay."), "They paid."], { name: "middle" });
      const host = make({ agent: lead(middle, [task("See to it."), "All paid."]) });
      const request = await end(host.ask(T, "Go."));
      await expect.poll(() => end(host.waiting(T))).toHaveLength(1);
      const [{ threadId = "", toolCallId } = {}] = await end(host.waiting(T));
      await end(host.approve(threadId, String(toolCallId)));
      const { text, usage } = await end(request.result);
      const all = await end(host.usage(T));
      expect([text, all.usage, (await childrenOf(store)).length]).toEqual(["All paid.", usage, 2]);
      await end(host.stop());
      const open = make({ agent: lead(lead(hanging(), [task("x")], { name: "middle" }), [task("x")]) });
      const cancelled = await end(open.ask("thread_2", "Go."));
      await expect.poll(() => end(statuses())).toHaveLength(6);
      await expect.poll(async () => (await end(statuses())).filter((status) => status === "running").length).toBe(3);
      await end(open.cancel("thread_2"));
      await expect(end(cancelled.result)).rejects.toEqual(code("request_cancelled"));
      await expect.poll(async () => (await end(statuses())).filter((status) => status === "cancelled").length).toBe(3);
      await end(open.stop());
    });

    test("the next process finds parent and child, also where the child ended while no process had the parent", async () => {
      const { host: make, end, store, statuses } = await story();
      const first = make({ agent: lead(hanging(), [task("x")]) });
      await end(first.ask(T, "Go.", { requestId: "req_1" }));
      await expect.poll(() => end(statuses())).toEqual(["running", "running"]);
      await end(first.stop({ graceMs: 0 }));
      expect(await end(statuses())).toEqual(["running", "running"]);
      const second = make({ agent: agentOf(["42"], { name: "researcher" }) }); // it has no lead
      second.work();
      await expect.poll(() => end(statuses())).toEqual(["completed", "running"]);
      await end(second.stop());
      expect(await store.pending(T)).toHaveLength(1);
      const third = make({ agent: lead(agentOf([], { name: "researcher" }), ["It is 42."]) });
      third.work();
      const again = await end(third.ask(T, "Go.", { requestId: "req_1" }));
      expect((await end(again.result)).text).toBe("It is 42.");
      expect([resultsIn(await logOf(store, T)), await store.pending(T)]).toEqual([[["research", "42"]], []]);
      await end(third.stop());
    });

    test("a child gets the context of its parent, and after a restart that of the host's function", async () => {
      const { host: make, end, store } = await story();
      const seen: unknown[] = [];
      const look = defineTool({
        inputSchema: anything,
        execute: (_: unknown, { context }) => void seen.push(context),
      });
      const child = agentOf([{ calls: [{ name: "look" }] }, "42"], { name: "researcher", tools: { look } });
      const host = make({ agent: lead(child, [task("x"), "Done."]) });
      await end((await end(host.ask(T, "Go.", { context: { user: "ada" } as never }))).result);
      expect(seen).toEqual([{ user: "ada" }]);
      const [id = ""] = await childrenOf(store);
      expect((await logOf(store, id))[0]?.payload).toMatchObject({ options: { hasContext: true } });
      await end(host.stop());
    });

    test("needs a host, and a name of its own for each agent", async () => {
      const { host: make, end, store, ports } = await story();
      const child = agentOf(["42"], { name: "researcher" });
      const server = await end(
        AgentServer.start({ agent: lead(child, [task("x"), "No."]), store, ports, threadId: T }),
      );
      await end((await end(server.ask("Go."))).result);
      expect(resultsIn(await logOf(store, T))).toEqual([
        ["research", expect.stringContaining("agent_tool_needs_host")],
      ]);
      await end(server.stop());
      expect(() => make({ agent: lead(agentOf([], { name: "lead" }), []) })).toThrow(code("invalid_agent"));
      const host = make({ agents: [lead(child, []), child] }); // one agent twice
      await end(host.stop());
    });
  });
}
