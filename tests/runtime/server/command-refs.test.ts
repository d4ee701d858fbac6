import { type AgentServer, type Entry, type Refs, suspend, type ToolOptions } from "heddle";
import { describe, expect, test } from "vitest";
import { agentOf, house } from "../host/support/hosts.ts";
import { anything, gate, type Stage, stage } from "../support/stage.ts";

const careful = { inputSchema: anything, needsApproval: true, execute: () => "paid" };
const outside = { inputSchema: anything };
const from = (source: string, refs: Refs = {}) => ({ source, refs: { messageId: `m_${source}`, ...refs } });
const expected = (source: string) => ({ source, messageId: `m_${source}` });

const payer = () =>
  agentOf([{ calls: CALLS }, "One.", "Two.", { calls: CALLS }], { tools: { pay: careful, quote: outside } });
const CALLS = [
  { id: "call_1", name: "pay" },
  { id: "call_2", name: "pay" },
  { id: "call_3", name: "quote" },
];

async function entryOf(on: Stage, find: (entry: Entry) => boolean): Promise<Entry | undefined> {
  return (await on.log()).find(find);
}

describe("refs of a command, and who sent it, are refs of the entry that it writes", () => {
  test("steer, inject and followUp", async () => {
    const on = await stage();
    const hold = gate<string>();
    const tools = { look: { inputSchema: anything, execute: () => hold.promise } };
    const server = await on.start({ script: [{ calls: [{ name: "look" }] }, "One.", "Two."], tools });
    const request = await on.end(server.ask("Go.", { refs: { messageId: "m_ask", ticket: 7 } }));
    await on.settled();
    await on.end(server.steer("Be brief.", from("anna")));
    await on.end(server.inject("It rains.", from("weather")));
    await on.end(server.followUp("And then?", from("ben")));
    hold.resolve("seen");
    await on.end(request.result);
    const steers = (await on.log()).filter(({ payload }) => "steer" in payload);
    expect(steers.map(({ refs }) => refs)).toMatchObject([
      { ...expected("anna"), ticket: 7, requestId: request.id },
      { ...expected("weather"), ticket: 7 },
      { ...expected("ben"), ticket: 7 },
    ]);
    expect((await on.log()).at(-1)?.refs).toMatchObject({ messageId: "m_ask" });
    expect((await on.log()).at(-1)?.refs).not.toHaveProperty("source");
  });

  test("approve, deny and answer", async () => {
    const on = await stage();
    const server = await on.start({ script: [{ calls: CALLS }, "Done."], tools: { pay: careful, quote: outside } });
    const request = await on.end(server.ask("Pay."));
    await on.settled();
    await on.end(server.approve("call_1", { by: "Anna", reason: "fine", ...from("slack") }));
    await on.end(server.deny("call_2", { reason: "too much", ...from("web") }));
    await on.end(server.answer("call_3", 5, from("crm")));
    await on.end(request.result);
    const resolved = (await on.log()).filter(({ kind }) => kind === "approval_resolved");
    expect(resolved.map(({ refs }) => refs)).toMatchObject([expected("slack"), expected("web")]);
    expect(resolved[0]?.payload).toMatchObject({ approved: true, by: "Anna", reason: "fine" });
    const resultOf = (id: string) =>
      entryOf(on, ({ payload }) => "role" in payload && payload["role"] === "tool" && payload.toolCallId === id);
    expect((await resultOf("call_3"))?.refs).toMatchObject(expected("crm"));
    expect((await resultOf("call_1"))?.refs).not.toHaveProperty("source");
    expect((await resultOf("call_2"))?.payload).toMatchObject({ content: expect.stringContaining("too much") });
  });

  test("cancel", async () => {
    const on = await stage();
    const server = await on.start({ script: [{ calls: [{ name: "pay" }] }], tools: { pay: careful } });
    const request = await on.end(server.ask("Pay."));
    await on.settled();
    await on.end(server.cancel(request.id, "Enough.", from("admin")));
    const last = (await on.log()).at(-1);
    expect(last?.refs).toMatchObject({ ...expected("admin"), requestId: request.id });
    expect(last?.payload["end"]).toEqual({ status: "cancelled", reason: "Enough." });
  });

  test("the same on a host, with the thread id first", async () => {
    const on = await house();
    const { store } = on;
    const host = on.host({ agent: payer() });
    const request = await on.end(host.ask("t", "Pay."));
    await on.settled();
    expect(await on.end(host.steer("t", "Quickly.", from("anna")))).toMatchObject({ accepted: true });
    expect(await on.end(host.inject("t", "It rains.", from("weather")))).toMatchObject({ accepted: true });
    expect(await on.end(host.followUp("t", "And then?", from("ben")))).toMatchObject({ accepted: true });
    await on.end(host.approve("t", "call_1", from("slack")));
    await on.end(host.deny("t", "call_2", { reason: "no", ...from("web") }));
    await on.end(host.answer("t", "call_3", 5, from("crm")));
    await on.end(request.result);
    const second = await on.end(host.ask("t", "Again."));
    await on.settled();
    expect(await on.end(host.cancel("t", second.id, "Enough.", from("admin")))).toBe(true);
    const sources = ((await store.load("t"))?.toArray() ?? []).flatMap(({ refs }) => refs["source"] ?? []);
    expect(sources).toEqual(["slack", "web", "crm", "anna", "weather", "ben", "admin"]);
    await on.end(host.stop());
  });

  test("also where another process holds the thread", async () => {
    const on = await house();
    const { store } = on;
    const holder = on.host({ agent: payer() });
    const request = await on.end(holder.ask("t", "Pay."));
    await on.settled();
    const other = on.host({ agent: payer() });
    await on.end(other.approve("t", "call_1", from("slack")));
    await on.end(other.deny("t", "call_2", { reason: "no", ...from("web") }));
    await on.end(other.steer("t", "Hi.", from("anna")));
    await on.end(other.answer("t", "call_3", 5, from("crm")));
    await on.end(request.result);
    const sources = ((await store.load("t"))?.toArray() ?? []).flatMap(({ refs }) => refs["source"] ?? []);
    expect(sources).toEqual(["slack", "web", "crm", "anna"]);
    await on.end(other.stop());
    await on.end(holder.stop());
  });
});

describe("the person who answers is in the entry of the answer, and no model is shown it", () => {
  const shown: unknown[] = [];
  const transformRequest = (request: { readonly messages: unknown }) => {
    shown.push(request.messages);
    return request;
  };
  const seat = { inputSchema: anything, execute: (_: unknown, { answer }: ToolOptions) => answer ?? suspend("Which?") };
  const calls = [
    { id: "call_1", name: "quote" },
    { id: "call_2", name: "seat" },
  ];

  test.each(["here", "elsewhere"])("%s", async (where) => {
    const on = await house();
    const agent = agentOf([{ calls }, "Done."], { tools: { quote: outside, seat }, transformRequest });
    const holder = on.host({ agent });
    const request = await on.end(holder.ask("t", "Go."));
    await on.settled();
    const other = on.host({ agent });
    const host = where === "here" ? holder : other;
    await on.end(host.answer("t", "call_1", 5, { by: "Anna" }));
    await on.end(host.answer("t", "call_2", "1A", { by: "Ben" }));
    expect((await on.end(request.result)).text).toBe("Done.");
    const log = (await on.store.load("t"))?.toArray() ?? [];
    const deciders = log.flatMap(({ kind, payload }) => ("by" in payload ? [[kind, payload["by"]]] : []));
    expect(deciders).toEqual([
      ["ai_message", "Anna"],
      ["question_answered", "Ben"],
    ]);
    expect(JSON.stringify(shown.at(-1))).not.toMatch(/Anna|Ben/);
    await expect(host.answer("t", "call_1", 5, { by: 7 } as never)).rejects.toMatchObject({ code: "invalid_options" });
    await expect(host.answer("t", "call_1", 5, { reason: "x" } as never)).rejects.toThrow("reason");
    await on.end(Promise.all([other.stop(), holder.stop()]));
  });
});

describe("refs that no entry can have are refused before anything is written", () => {
  const bad: readonly (readonly [string, object, string])[] = [
    ["a ref that the agent writes", { refs: { toolCallId: "x" } }, "invalid_options"],
    ["an object", { refs: { a: {} } }, "invalid_refs"],
    ["a lone surrogate", { refs: { a: "\ud83d" } }, "invalid_refs"],
    ["a source that is no text", { source: 7 }, "invalid_options"],
    ["the old name of the reason", { note: "no" }, "invalid_options"],
  ];

  test.each(bad)("%s", async (_, options, code) => {
    const on = await stage();
    const server = await on.start({ script: [{ calls: [{ name: "pay" }] }, "Done."], tools: { pay: careful } });
    await on.end(server.ask("Pay."));
    await on.settled();
    const { length } = await on.log();
    for (const send of senders(server, options)) {
      await expect((async () => send())()).rejects.toMatchObject({ code });
    }
    expect((await on.log()).length).toBe(length);
    await on.end(server.deny("call_1"));
  });
});

function senders(server: AgentServer, options: object): readonly (() => unknown)[] {
  const given = options as never; // as a caller without types passes it
  return [
    () => server.steer("Hi.", given),
    () => server.followUp("Hi.", given),
    () => server.approve("call_1", given),
    () => server.deny("call_1", given),
    () => server.answer("call_1", 1, given),
    () => server.cancel(undefined, undefined, given),
  ];
}
