import { AgentHost, defineAgent, memoryStore } from "heddle";
import { sqliteStore } from "heddle/sqlite";
import { scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { fastFile } from "../../support/temp-folder.ts";
import { anything, failureOf, proveAll, type Stage, stage } from "../support/stage.ts";

const sees = (...texts: string[]) => ({ expect: { messages: texts.map((text) => ({ text })) }, text: "Ok." });
const cuts = async (on: Stage) => (await on.log()).flatMap(({ payload }) => ("cut" in payload ? [payload["cut"]] : []));
const SPEAKING = { text: "It rains in", hang: true } as const;

/** Asks, and waits until the first word of the answer is spoken. */
async function speaking(on: Stage, server: Awaited<ReturnType<Stage["start"]>>) {
  const request = await on.end(server.ask("How?"));
  for await (const _text of request.textStream) break;
  return request;
}

describe.each([
  ["memory", () => memoryStore()],
  ["SQLite", () => sqliteStore(fastFile())],
])("cancel with spoken on %s", (_name, open) => {
  test("cuts the answer in the commit of the end, before a queued ask is taken", async () => {
    const on = await stage({ store: open() });
    const server = await on.start({ busy: "queue", script: [SPEAKING, sees("How?", "It", "And Oslo?")] });
    const { id } = await speaking(on, server);
    const queued = server.ask("And Oslo?");
    expect(await on.end(server.cancel(id, "barge-in", { spoken: "It", source: "phone" }))).toBe(true);
    expect((await on.end((await on.end(queued)).result)).text).toBe("Ok.");
    const log = await on.log();
    expect(log[2]).toMatchObject({
      refs: { source: "phone" },
      payload: { code: "request_cancelled", message: "barge-in", cut: { seq: 1, characters: 2 } },
    });
    expect(log[2]?.payload).not.toHaveProperty("end.spoken");
    expect(await cuts(on)).toHaveLength(1);
    await proveAll(on.store, on.threadId);
  });

  test("cuts an answer that was already complete", async () => {
    const on = await stage({ store: open() });
    const server = await on.start({ script: ["It rains in Bern.", sees("How?", "It rains", "And Oslo?")] });
    const { id, result } = await on.end(server.ask("How?"));
    await on.end(result);
    expect(await on.end(server.cancel(id, undefined, { spoken: "It rains" }))).toBe(false);
    await on.end((await on.end(server.ask("And Oslo?"))).result);
    expect(await cuts(on)).toEqual([{ seq: 1, characters: 8 }]);
  });

  test("cuts nothing when the caller heard no word, and nothing had arrived", async () => {
    const on = await stage({ store: open() });
    const server = await on.start({ script: [{ text: "", hang: true }, sees("How?", "And Oslo?")] as never });
    const { id } = await on.end(server.ask("How?"));
    await on.settled();
    expect(await on.end(server.cancel(id, undefined, { spoken: "" }))).toBe(true);
    await on.end((await on.end(server.ask("And Oslo?"))).result);
    expect(await cuts(on)).toEqual([]);
  });

  test("cancels the request when the words are others, and says that nothing was cut", async () => {
    const on = await stage({ store: open() });
    const server = await on.start({ script: [SPEAKING] });
    const { id, result } = await speaking(on, server);
    const { code } = await failureOf(on.end(server.cancel(id, undefined, { spoken: "It snows" })));
    expect(code).toBe("cut_invalid");
    expect(await failureOf(result)).toMatchObject({ code: "request_cancelled" });
    expect(await cuts(on)).toEqual([]);
  });

  test("cuts the words before a call that runs", async () => {
    const on = await stage({ store: open() });
    const look = { inputSchema: anything, execute: () => new Promise(() => undefined) };
    const script = [{ text: "Let me look that up.", calls: [{ name: "look" }] }];
    const server = await on.start({ tools: { look }, script });
    const { id } = await on.end(server.ask("How?"));
    await on.settled();
    await on.end(server.cancel(id, undefined, { spoken: "Let me" }));
    expect(await cuts(on)).toEqual([{ seq: 1, characters: 6 }]);
    await proveAll(on.store, on.threadId);
  });

  test("cuts nothing for an ask that waited in the queue", async () => {
    const on = await stage({ store: open() });
    const server = await on.start({ busy: "queue", script: [SPEAKING] });
    const { id } = await speaking(on, server);
    const queued = failureOf(server.ask("And Oslo?", { requestId: "next" } as never));
    expect(await on.end(server.cancel("next", undefined, { spoken: "It" }))).toBe(true);
    expect(await queued).toMatchObject({ code: "request_cancelled" });
    await on.end(server.cancel(id, undefined, { spoken: "It", pending: "drop" }));
    expect(await cuts(on)).toEqual([{ seq: 1, characters: 2 }]);
  });
});

test("is the same by a host, and needs the id of the request", async () => {
  const on = await stage();
  const model = scriptedModel([SPEAKING, sees("How?", "It", "And Oslo?")] as never);
  const host = AgentHost.create({ agent: defineAgent({ model }), store: on.store, ports: on.ports });
  const { id, textStream } = await on.end(host.ask(on.threadId, "How?"));
  for await (const _text of textStream) break;
  const refused = await failureOf(host.cancel(on.threadId, undefined, undefined, { spoken: "It" }));
  expect(refused.code).toBe("invalid_options");
  expect(await on.end(host.cancel(on.threadId, id, undefined, { spoken: "It" }))).toBe(true);
  await on.end((await on.end(host.ask(on.threadId, "And Oslo?"))).result);
  expect(model.requests).toHaveLength(2);
  await on.end(host.stop());
});
