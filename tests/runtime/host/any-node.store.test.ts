import { agentTool, memoryStore, type ThreadStore } from "heddle";
import { sqliteStore } from "heddle/sqlite";
import { describe, expect, test } from "vitest";
import { until } from "../../support/postgres/until.ts";
import { fastFile } from "../../support/temp-folder.ts";
import { agentOf, anything, careful, house, PAY, realTime } from "./support/hosts.ts";

const T = "thread_1";
const stores: readonly [string, () => readonly [ThreadStore, ThreadStore]][] = [
  [
    "memory",
    () => {
      const store = memoryStore();
      return [store, store];
    },
  ],
  [
    "SQLite",
    () => {
      const file = fastFile();
      return [sqliteStore(file), sqliteStore(file)];
    },
  ],
];

/** A tool that runs until it is opened, and the promise that it has begun. */
function gate() {
  const begun = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  const wait = {
    inputSchema: anything,
    execute: async () => {
      begun.resolve();
      await opened.promise;
      return "waited";
    },
  };
  return { wait, begun: begun.promise, open: () => opened.resolve() };
}

/** The rows that the store is given from now on. */
function rowsPosted(store: ThreadStore): readonly unknown[] {
  const rows: unknown[] = [];
  const post = store.post.bind(store);
  store.post = (...given) => {
    rows.push(given);
    return post(...given);
  };
  return rows;
}

const WAIT = { calls: [{ id: "w", name: "wait" }] } as const;

describe.each(stores)("commands from the process that does not hold the thread, on %s", (_name, open) => {
  async function nodes(
    script: Parameters<typeof agentOf>[0],
    tools: object = {},
    other: typeof script = ["From two."],
    values: object = {},
  ) {
    const [one, two] = open();
    const { host: make, end } = await house(one, realTime());
    const first = make({ agent: agentOf(script, { tools }), holder: "web_1", store: one, ...values });
    const second = make({ agent: agentOf(other, { tools }), holder: "web_2", store: two });
    const stop = async () => {
      await end(second.stop());
      await end(first.stop());
    };
    return { first, second, end, stop };
  }

  test("the next message is answered there, because the idle holder releases the thread", async () => {
    const { first, second, end, stop } = await nodes(["One."]);
    await end((await end(first.ask(T, "1?"))).result);
    const request = await end(second.ask(T, "2?"));
    expect((await end(request.result)).text).toBe("From two.");
    const texts = (await second.thread(T)).toArray().map(({ payload }) => (payload as { content: string }).content);
    expect(texts).toEqual(["1?", "One.", "2?", "From two."]);
    await stop();
  });

  const SECRETS: readonly object[] = [{ context: { token: "secret" } }, { headers: { authorization: "secret" } }];

  test.each(SECRETS)(
    "a context and headers are not written, and a busy holder needs functions for them: %j",
    async (options) => {
      const { wait, begun, open: go } = gate();
      const { first, second, end, stop } = await nodes(["One.", WAIT, "Two."], { wait });
      const rows = rowsPosted(second.store);
      await end((await end(first.ask(T, "1?"))).result);
      const request = await end(second.ask(T, "2?", options as never));
      expect((await end(request.result)).text).toBe("From two.");
      const running = await end(first.ask(T, "3?"));
      await end(begun);
      await expect(end(second.ask(T, "4?", options as never))).rejects.toMatchObject({ code: "busy" });
      go();
      await end(running.result);
      expect(rows).not.toEqual([]);
      expect(JSON.stringify(rows)).not.toContain("secret");
      await stop();
    },
  );

  test.each(SECRETS)("a busy holder makes the values of an ask that waits: %j", async (options) => {
    const { wait, begun, open: go } = gate();
    const values = { context: () => "made", headers: () => ({ authorization: "made" }) };
    const { first, second, end, stop } = await nodes([WAIT, "One.", "Two."], { wait }, undefined, values);
    const rows = rowsPosted(second.store);
    const running = await end(first.ask(T, "1?"));
    await end(begun);
    const next = second.ask(T, "2?", { ...options, queue: true } as never);
    await end(until("the ask waits", async () => (await first.pending(T)).length === 1));
    go();
    await end(running.result);
    expect((await end((await end(next)).result)).text).toBe("Two.");
    expect(JSON.stringify(rows)).not.toContain("secret");
    await stop();
  });

  test("a call that no holder has taken is taken back when its process stops", async () => {
    const [store] = open();
    const { host: make, end } = await house(store, realTime());
    const { epoch } = await store.claim(T, { holder: "other", ttlMs: 60_000 }); // takes no calls
    const host = make({ agent: agentOf(["Hello."]), store });
    const steered = host.steer(T, "No, wait.", { id: "m2" }).catch((error: { readonly code?: string }) => error.code);
    await end(until("the call is posted", async () => (await store.pending(T)).length === 1));
    await end(host.stop());
    expect(await steered).toBe("thread_held");
    expect(await store.pending(T)).toEqual([]);
    await store.release(T, epoch);
  });

  test("an approval of a child ends the call of its parent, which the first process holds", async () => {
    const { agent: payer } = careful([PAY, "Paid."], { name: "payer" });
    const tools = { delegate: agentTool(payer, { description: "Pays" }) };
    const script = [{ calls: [{ id: "d", name: "delegate", arguments: { task: "Pay." } }] }, "Done."];
    const { first, second, end, stop } = await nodes(script, tools);
    const request = await end(first.ask(T, "Go."));
    await end(until("the child waits", async () => (await second.waiting(T)).length === 1));
    const [waiting] = await second.waiting(T);
    await end(second.approve(waiting?.threadId ?? "", "call_p"));
    expect((await end(request.result)).text).toBe("Done.");
    await stop();
  });

  test("a stop of the parent cancels a child that another process runs", async () => {
    const [one, two] = open();
    const { host: make } = await house(one, realTime());
    const { wait, begun, open: release } = gate();
    const payer = agentOf([PAY, "Paid."], { name: "payer", tools: { pay: { ...wait, needsApproval: true } } });
    const tools = { delegate: agentTool(payer, { description: "Pays" }) };
    const calls = [{ id: "d", name: "delegate", arguments: { task: "Pay." } }];
    const lead = () => agentOf([{ calls }, "Done."], { name: "lead", tools });
    const first = make({ agent: lead(), holder: "web_1", store: one });
    const { id } = await first.ask(T, "Go.");
    await until("the child waits", async () => (await first.waiting(T)).length === 1);
    const child = (await first.waiting(T))[0]?.threadId ?? "";
    await first.stop();

    const second = make({ agents: { lead: lead(), payer }, holder: "web_2", store: two });
    await second.approve(child, "call_p");
    await begun;
    const third = make({ agent: lead(), holder: "web_3", store: one });
    expect(await third.cancel(T, id)).toBe(true);
    await until("the child has ended", async () => (await one.load(child))?.metadata["status"] === "cancelled");
    release();
    await third.stop();
    await second.stop();
    const log = (await one.load(T))?.toArray() ?? [];
    const results = log.filter(({ payload }) => "toolCallId" in payload && payload["role"] === "tool");
    expect(results.map(({ refs }) => refs.toolCallId)).toEqual(["d"]);
    expect((await one.load(T))?.metadata["status"]).toBe("cancelled");
  });

  test("a message is steered into the request, and the stop ends it", async () => {
    const { wait, begun, open: release } = gate();
    const { first, second, end, stop } = await nodes([WAIT, "Done."], { wait });
    const request = await end(first.ask(T, "Wait."));
    await end(begun);
    const followed = await end(second.resume(T));
    expect(followed?.id).toBe(request.id);
    const steered = await end(second.steer(T, "Be quick.", { id: "s1" }));
    expect(steered).toMatchObject({ id: "s1", accepted: true });
    release();
    expect(await end(steered.receipt)).toMatchObject({ delivered: true });
    expect((await end(followed?.result ?? Promise.reject(new Error("none")))).text).toBe("Done.");
    expect((await end(second.result(T, request.id))).text).toBe("Done.");
    await stop();
  });

  test("a stop cancels the request of the other process", async () => {
    const { wait, begun, open: release } = gate();
    const { first, second, end, stop } = await nodes([WAIT, "Done."], { wait });
    const request = await end(first.ask(T, "Wait."));
    await end(begun);
    expect(await end(second.cancel(T))).toBe(true);
    await expect(end(request.result)).rejects.toMatchObject({ code: "request_cancelled" });
    expect(await end(second.cancel(T))).toBe(false);
    release();
    await stop();
  });

  test("a busy thread refuses an ask with the code that it has there", async () => {
    const { wait, begun, open: release } = gate();
    const { first, second, end, stop } = await nodes([WAIT, "Done.", "Second."], { wait }, ["Second."]);
    await end(first.ask(T, "Wait."));
    await end(begun);
    await expect(end(second.ask(T, "Now?"))).rejects.toMatchObject({ code: "busy" });
    const queued = second.ask(T, "Later.", { queue: true });
    release();
    expect((await end((await end(queued)).result)).text).toBe("Second.");
    await stop();
  });

  test("settings and operations are applied there, with the same answers and errors", async () => {
    const { wait, begun, open: release } = gate();
    const { first, second, end, stop } = await nodes([WAIT, "Done."], { wait });
    const request = await end(first.ask(T, "Wait."));
    await end(begun);
    expect(await end(second.setSystemPrompt(T, "Be brief."))).toMatchObject({ status: "deferred" });
    const reset = await end(second.reset(T));
    expect(reset.status).toBe("deferred");
    await expect(end(second.setMode(T, "none"))).rejects.toMatchObject({ code: "mode_unknown" });
    await expect(end(second.switchBranch(T, "none"))).rejects.toMatchObject({ code: "context_op_lane_unknown" });
    expect(await end(second.revokeRule(T, "none"))).toBe(false);
    release();
    await end(request.result);
    expect(await end(reset.settled)).toEqual({ status: "applied" });
    await stop();
  });

  test("an approval of one process is acted on by the other, and followed here", async () => {
    const pay = { inputSchema: anything, needsApproval: true, execute: () => "paid" };
    const { first, second, end, stop } = await nodes([PAY, "Paid."], { pay });
    const request = await end(first.ask(T, "Pay."));
    await end(request.settled());
    const followed = await end(second.resume(T));
    expect(await end(followed?.settled() ?? Promise.resolve("none"))).toBe("waiting");
    const [call] = await second.waiting(T);
    await end(second.approve(T, call?.toolCallId ?? ""));
    expect((await end(followed?.result ?? Promise.reject(new Error("none")))).text).toBe("Paid.");
    const kinds = (await Array.fromAsync(followed?.events() ?? [])).map(({ kind }) => kind);
    expect(kinds).toContain("approval_resolved");
    expect(kinds.at(-1)).toBe("request_completed");
    await stop();
  });
});
