import { AgentHost, defineAgent, memoryStore, rebuildCall } from "heddle";
import { toUIMessages } from "heddle/ai-sdk";
import { sqliteStore } from "heddle/sqlite";
import { scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { fastFile } from "../../support/temp-folder.ts";
import { proveAll, type Stage, stage, told } from "../support/stage.ts";

const NODE = { holder: "node" };
const CI = { source: "ci" };

/** What the model was shown in the last call. */
async function shown(on: Stage) {
  const { callId = "" } = (await on.log()).at(-1)?.refs ?? {};
  return (await rebuildCall(on.store, on.threadId, callId)).messages.map(({ content }) => content);
}

describe.each([
  ["memory", () => memoryStore()],
  ["SQLite", () => sqliteStore(fastFile())],
])("words for a thread at rest on %s", (_name, open) => {
  const begin = async () => stage({ store: await open() });

  test("wait for the next ask, and come before it, also in the next process", async () => {
    const on = await begin();
    const first = await on.start({ script: ["One."] }, NODE);
    await on.end((await on.end(first.ask("Go."))).result);
    expect((await on.end(first.inject("It rains.", { ...CI, id: "rain" }))).accepted).toBe(true);
    expect(await first.pending()).toMatchObject([{ id: "rain", type: "inject", source: "ci" }]);
    const second = await on.start({ script: ["Two."] }, NODE);
    const { receipt } = await on.end(second.inject("It snows.", CI));
    await on.end((await on.end(second.ask("And now?", { contextPolicy: { maxTurns: 1 } }))).result);
    const log = await on.log();
    expect(told(log).slice(2)).toEqual([
      "inject It rains.",
      "inject It snows.",
      "ask And now?",
      "says Two. end:completed",
    ]);
    expect(await on.end(receipt)).toMatchObject({ delivered: true, seq: 3 });
    expect(await on.store.outcome(on.threadId, "rain")).toEqual({ status: "delivered", seq: 2 });
    expect(new Set(log.slice(2).map(({ refs }) => refs.requestId)).size).toBe(1);
    expect(await on.store.pending(on.threadId)).toEqual([]);
    expect(toUIMessages(await second.thread()).map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "user",
      "assistant",
    ]);
    expect(await shown(on)).toEqual(["It rains.", "It snows.", "And now?"]);
    await proveAll(on.store, on.threadId);
  });

  test("that do not fit beside an ask wait for the next one when it is cancelled", async () => {
    const on = await begin();
    const contextPolicy = { maxInputTokens: 4000, reserveOutputTokens: 1000 };
    const server = await on.start({ script: [{ hang: true }, "Yes.", "I see."], contextPolicy }, NODE);
    for (const n of [1, 2, 3]) await on.end(server.inject(`Log ${n}. ${"x".repeat(4000)}`, { ...CI, id: `log${n}` }));
    const request = await on.end(server.ask("Go."));
    request.result.catch(() => undefined);
    const left = (await server.pending()).map(({ id }) => id);
    expect(left).toContain("log3");
    const { receipt } = await on.end(server.inject("Now.", CI));
    await on.end(server.cancel(request.id));
    expect(await on.end(receipt)).toMatchObject({ delivered: false, reason: "cancelled" });
    expect((await server.pending()).map(({ id }) => id)).toEqual(left);
    await on.end((await on.end(server.ask("Again."))).result);
    expect(await on.store.outcome(on.threadId, "log3")).toMatchObject({ status: "delivered" });
    expect(await on.store.pending(on.threadId)).toEqual([]);
    await proveAll(on.store, on.threadId);
  });

  test("never keep an ask from its begin: those that do not fit beside it come in its later calls", async () => {
    const on = await begin();
    const contextPolicy = { maxInputTokens: 4000, reserveOutputTokens: 1000 };
    const first = await on.start({ script: [], contextPolicy }, NODE);
    for (const n of [1, 2, 3, 4]) await on.end(first.inject(`Log ${n}. ${"x".repeat(4000)}`, { ...CI, id: `log${n}` }));
    const second = await on.start({ script: ["Yes.", "I see.", "And this."], contextPolicy }, NODE);
    await on.end((await on.end(second.ask("Go."))).result);
    const lines = told(await on.log()).map((line) => line.slice(0, 12));
    expect(lines.filter((line) => line.startsWith("inject"))).toEqual([
      "inject Log 1",
      "inject Log 2",
      "inject Log 3",
      "inject Log 4",
    ]);
    expect(lines.slice(0, 4)).toEqual(["inject Log 1", "inject Log 2", "ask Go.", "says Yes."]);
    expect(await on.store.pending(on.threadId)).toEqual([]);
    await proveAll(on.store, on.threadId);
  });

  test("start a request with wake, which a page can leave out", async () => {
    const on = await begin();
    const server = await on.start({ script: [{ expect: "The build is red.", text: "Looking." }] }, NODE);
    const { accepted, receipt } = await on.end(server.inject("The build is red.", { ...CI, id: "red", wake: true }));
    expect(accepted).toBe(true);
    expect(await on.end(receipt)).toEqual({ id: "red", delivered: true, seq: 0 });
    expect((await on.end(server.result("red"))).text).toBe("Looking.");
    const [ask] = await on.log();
    expect(ask).toMatchObject({ id: "red/0", refs: { requestId: "red", source: "ci" }, payload: { source: "ci" } });
    expect(toUIMessages(await server.thread())[0]?.metadata).toEqual({ heddle: { source: "ci" } });
    const again = await on.end(server.inject("The build is red.", { ...CI, id: "red", wake: true }));
    expect(await on.end(again.receipt)).toMatchObject({ delivered: true, seq: 0 });
    expect(told(await on.log())).toEqual(["ask The build is red.", "says Looking. end:completed"]);
    await proveAll(on.store, on.threadId);
  });

  test("that a process could not take any more are taken by the next one, as an ask where they wake", async () => {
    const on = await begin();
    const words = { type: "steer", steer: "inject", content: "The build is red.", source: "ci" } as const;
    await on.store.post(on.threadId, { ...words, id: "red", wake: true });
    await on.store.post(on.threadId, { ...words, id: "old", key: "build", content: "It is green." });
    await on.store.post(on.threadId, { ...words, id: "new", key: "build", content: "It is blue." });
    const server = await on.start({ script: ["Looking."] }, NODE);
    expect((await on.end(server.result("red"))).text).toBe("Looking.");
    expect(await on.store.outcome(on.threadId, "old")).toEqual({ status: "dropped", reason: "replaced" });
    expect(await on.store.outcome(on.threadId, "new")).toMatchObject({ status: "delivered" });
    expect(await on.store.pending(on.threadId)).toEqual([]);
  });

  test("replace those with the same key, in one transaction, also while a request runs", async () => {
    const on = await begin();
    const server = await on.start({ script: [{ text: "One.", delayMs: 50 }, "Two.", "Three."] }, NODE);
    const about = (key: string, id: string) => ({ ...CI, key, id });
    const one = await on.end(server.inject("8 degrees.", about("weather", "w1")));
    await on.end(server.inject("Red.", about("build", "b1")));
    const two = await on.end(server.inject("9 degrees.", about("weather", "w2")));
    expect(await on.end(one.receipt)).toEqual({ id: "w1", delivered: false, reason: "replaced" });
    expect(await on.store.outcome(on.threadId, "w1")).toEqual({ status: "dropped", reason: "replaced" });
    expect((await server.pending()).map(({ id }) => id)).toEqual(["b1", "w2"]);
    const late = await on.end(server.inject("8 degrees.", about("weather", "w1")));
    expect(late).toMatchObject({ accepted: false, reason: "replaced" });
    expect((await server.pending()).map(({ id }) => id).toSorted()).toEqual(["b1", "w2"]);
    const request = await on.end(server.ask("Go."));
    await on.end(server.inject("10 degrees.", about("weather", "w3")));
    await on.end(server.inject("11 degrees.", about("weather", "w4")));
    await on.end(request.result);
    expect(await on.end(two.receipt)).toMatchObject({ delivered: true });
    const lines = told(await on.log()).filter((line) => line.startsWith("inject"));
    expect(lines.toSorted()).toEqual(["inject 11 degrees.", "inject 9 degrees.", "inject Red."]);
    expect(await on.store.pending(on.threadId)).toEqual([]);
  });

  test("can be amended and withdrawn, are bounded, and are refused where they are malformed", async () => {
    const on = await begin();
    const server = await on.start({ script: ["One.", "Two."], maxPending: 2 }, NODE);
    for (const id of ["a", "b"]) await on.end(server.inject(`Words ${id}.`, { ...CI, id, key: id }));
    expect(await on.end(server.inject("More.", CI))).toMatchObject({ accepted: false, reason: "queue_full" });
    expect((await on.end(server.inject("New b.", { ...CI, id: "c", key: "b" }))).accepted).toBe(true);
    await on.end(server.amend("a", "Other a."));
    await on.end(server.withdraw("c"));
    await on.end((await on.end(server.ask("Go."))).result);
    expect(told(await on.log()).slice(0, 2)).toEqual(["inject Other a.", "ask Go."]);
    const refused = { code: "invalid_options" };
    await expect(server.inject("Hm", { ...CI, key: "" })).rejects.toMatchObject(refused);
    await expect(server.inject("Hm", { ...CI, wake: "yes" } as never)).rejects.toMatchObject(refused);
    await expect(server.steer("Hm", { wake: true } as never)).rejects.toMatchObject(refused);
    expect(await on.end(server.steer("Hm"))).toMatchObject({ accepted: false, reason: "idle" });
    const bound = await on.end(server.inject("Hm", { ...CI, requestId: "other" }));
    expect(bound).toMatchObject({ accepted: false, reason: "idle" });
  });

  test("reach a thread that a host has released", async () => {
    const on = await begin();
    const agent = defineAgent({ model: scriptedModel(["One.", "Two."]) });
    const host = AgentHost.create({ agent, store: on.store, idleMs: 0, ports: on.ports });
    await on.end((await on.end(host.ask(on.threadId, "Go."))).result);
    await on.end(host.inject(on.threadId, "It rains.", CI));
    await on.pass(100);
    expect([host.size, (await host.pending(on.threadId)).length]).toEqual([0, 1]);
    const { text } = await on.end((await on.end(host.ask(on.threadId, "And now?"))).result);
    expect(text).toBe("Two.");
    expect(await shown(on)).toEqual(["Go.", "One.", "It rains.", "And now?"]);
    await on.end(host.stop());
  });
});
