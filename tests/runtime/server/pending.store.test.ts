import { AgentHost, defineAgent, memoryStore } from "heddle";
import { sqliteStore } from "heddle/sqlite";
import { scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { fastFile } from "../../support/temp-folder.ts";
import { anything, failureOf, gate, type Stage, stage, told } from "../support/stage.ts";

const NODE = { holder: "node" };
const slowly = (text: string) => ({ text, delayMs: 50 });

describe.each([
  ["memory", (options: object) => memoryStore(options)],
  ["SQLite", (options: object) => sqliteStore(fastFile(), options)],
])("what waits on %s", (_name, open) => {
  const begin = async (): Promise<Stage> => stage({ store: await open({}) });

  /** A request that hangs, behind which everything waits. */
  async function waiting(on: Stage, config: object = {}) {
    const server = await on.start({ script: [{ hang: true }], busy: "queue", ...config }, NODE);
    const request = await on.end(server.ask("Go."));
    const asked = server.ask("And then?", { requestId: "next", refs: { chat: "c" } });
    asked.catch(() => undefined);
    const lost = () => failureOf(asked);
    await on.end(server.steer("Be brief.", { id: "brief" }));
    await on.end(server.inject("It rains.", { id: "rain", source: "monitor" }));
    await on.end(server.followUp("In verse.", { id: "verse" }));
    const { opId } = await on.end(server.reset());
    return { server, request, lost, opId };
  }

  test("is listed in its order, by the server and by a host that does not hold the thread", async () => {
    const on = await begin();
    const { server, request, opId } = await waiting(on);
    const requestId = request.id;
    const listed = await server.pending();
    expect(listed).toMatchObject([
      { id: "next", type: "ask", content: "And then?", refs: { chat: "c" } },
      { id: "brief", type: "steer", content: "Be brief.", requestId },
      { id: "rain", type: "inject", content: "It rains.", requestId, source: "monitor" },
      { id: "verse", type: "follow_up", content: "In verse.", requestId },
      { id: opId, type: "context_op", operation: { opId } },
    ]);
    const host = hostOf(on);
    expect(await host.pending(on.threadId)).toEqual(listed);
    expect(host.size).toBe(0);
  });

  test("is changed and withdrawn, where the thread is held and elsewhere, and so after a restart", async () => {
    const on = await begin();
    const { server, opId, lost } = await waiting(on);
    const host = hostOf(on);
    await on.end(server.amend("brief", "Be long."));
    await on.end(host.amend(on.threadId, "next", "And now?"));
    await on.end(server.withdraw("rain"));
    await on.end(host.withdraw(on.threadId, "verse"));
    await on.end(server.withdraw(opId));
    expect((await server.pending()).map(({ id }) => id)).toEqual(["next", "brief"]);
    const second = await on.start({ script: ["Ok.", "Now."], busy: "queue" }, NODE);
    await on.pass(200);
    expect(told(await on.log())).toEqual([
      "ask Go.",
      "note",
      "steer Be long.",
      "says Ok. end:completed",
      "ask And now?",
      "says Now. end:completed",
    ]);
    expect(await second.pending()).toEqual([]);
    await on.end(server.stop());
    expect((await lost()).code).toBe("request_suspended");
  });

  test("is refused to those who come too late, or with what has no content", async () => {
    const on = await begin();
    const { server, opId } = await waiting(on);
    await on.end(server.withdraw("brief"));
    for (const change of [
      () => server.amend("brief", "Late."),
      () => server.amend("nothing", "Hm."),
      () => server.withdraw("nothing"),
      () => server.amend(opId, "Hm."),
      () => server.amend("next", " "),
    ]) {
      const codes = /^(command_settled|command_not_found|invalid_options)$/;
      await expect(on.end(change())).rejects.toMatchObject({ code: expect.stringMatching(codes) });
    }
  });

  test("ends for its callers: the ask is cancelled, and the receipt says withdrawn", async () => {
    const on = await begin();
    const server = await on.start({ script: [{ hang: true }], busy: "queue" }, NODE);
    await on.end(server.ask("Go."));
    const next = failureOf(server.ask("And then?", { requestId: "next" }));
    const { receipt } = await on.end(server.steer("Be brief.", { id: "brief" }));
    await on.end(server.withdraw("next"));
    await on.end(server.withdraw("brief"));
    expect((await on.end(next)).code).toBe("request_cancelled");
    expect(await on.end(receipt)).toEqual({ id: "brief", delivered: false, reason: "withdrawn" });
  });

  test("is limited: more messages and more asks are queue_full, and repeated ones are not", async () => {
    const on = await begin();
    const server = await on.start({ script: [{ hang: true }], busy: "queue", maxPending: 1 }, NODE);
    await on.end(server.ask("Go."));
    const first = failureOf(server.ask("One?", { requestId: "one" }));
    expect(await failureOf(on.end(server.ask("Two?")))).toMatchObject({ code: "queue_full", retryable: true });
    expect((await on.end(server.steer("One.", { id: "a" }))).accepted).toBe(true);
    expect(await on.end(server.followUp("Two."))).toMatchObject({ accepted: false, reason: "queue_full" });
    const again = failureOf(server.ask("One?", { requestId: "one" }));
    await on.settled();
    expect((await server.pending()).map(({ id }) => id)).toEqual(["one", "a"]);
    await on.end(server.stop({ graceMs: 0 }));
    expect([(await first).code, (await again).code]).toEqual(["request_suspended", "request_suspended"]);
  });

  test.each(["keep", "drop", "return"] as const)("a cancel with pending: %s", async (pending) => {
    const on = await begin();
    const { server, request, lost } = await waiting(on, { script: [{ hang: true }, "Next."] });
    const ended =
      pending === "return"
        ? server.cancel(request.id, "Enough.", { pending })
        : server.cancel(request.id, "Enough.", { pending });
    const answer = await on.end(ended as Promise<unknown>);
    expect((await failureOf(request.result)).code).toBe("request_cancelled");
    await on.pass(100);
    const asks = told(await on.log()).filter((line) => line.startsWith("ask"));
    expect(asks).toEqual(pending === "keep" ? ["ask Go.", "ask And then?"] : ["ask Go."]);
    expect(await server.pending()).toEqual([]);
    if (pending !== "keep") expect(await lost()).toMatchObject({ code: "request_cancelled", message: "Enough." });
    if (pending !== "return") return expect(answer).toBe(true);
    const words = (answer as { type: string; content: string }[]).map(({ type, content }) => `${type} ${content}`);
    expect(words).toEqual(["steer Be brief.", "inject It rains.", "follow_up In verse.", "ask And then?"]);
  });
});

function hostOf({ store, ports }: Stage): AgentHost {
  return AgentHost.create({ agent: defineAgent({ model: scriptedModel([]) }), store, ports }) as AgentHost;
}

describe("messages are delivered", () => {
  async function delivered(config: object): Promise<readonly string[]> {
    const on = await stage();
    const { promise, resolve } = gate<string>();
    const work = { inputSchema: anything, execute: () => promise };
    const script = [{ calls: [{ name: "work", id: "w" }] }, ...["A.", "B.", "C.", "D."].map(slowly)];
    const server = await on.start({ script, tools: { work }, ...config });
    const request = await on.end(server.ask("Go."));
    await on.settled();
    for (const text of ["One.", "Two."]) await on.end(server.steer(text));
    for (const text of ["Three.", "Four."]) await on.end(server.followUp(text));
    resolve("done");
    await on.end(request.result);
    return told(await on.log()).slice(3);
  }

  test("all at once, which is the default", async () => {
    const all = ["steer One.", "steer Two.", "says A.", "follow_up Three.", "follow_up Four.", "says B. end:completed"];
    expect(await delivered({})).toEqual(all);
    expect(await delivered({ steering: "all", followUps: "all" })).toEqual(all);
  });

  test("one at a time, each answered before the next", async () => {
    const steers = ["steer One.", "says A.", "steer Two.", "says B."];
    const followUps = ["follow_up Three.", "says C.", "follow_up Four.", "says D. end:completed"];
    expect(await delivered({ steering: "one", followUps: "one" })).toEqual([...steers, ...followUps]);
  });
});
