import { AgentHost, type AskOptions, memoryStore, Thread, type ThreadStore } from "heddle";
import { messageSiblings, toUIMessages, type UIChatMessage } from "heddle/ai-sdk";
import { sqliteStore } from "heddle/sqlite";
import type { ScriptedStep } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { fastFile } from "../../support/temp-folder.ts";
import { agentOf, anything } from "./chat.ts";

const id = "thread_c";
const warn = (): void => undefined;

/** So small that a call needs only the end of the thread. */
const contextPolicy = { maxInputTokens: 6_000, reserveOutputTokens: 1_000 };

function hostOn(store: ThreadStore, script: readonly ScriptedStep[]) {
  return AgentHost.create({ agent: agentOf(script, { contextPolicy }), store, warn });
}

async function ask(host: AgentHost, content: string, options: AskOptions<never> = {}): Promise<void> {
  const request = await host.ask(id, content, { refs: { messageId: content }, ...options });
  await request.result;
}

/** The id of the entry with these words of the user. */
async function entryOf(host: AgentHost, words: string): Promise<string> {
  const entries = (await host.thread(id, { whole: true })).toArray();
  const found = entries.find(({ payload }) => "content" in payload && payload["content"] === words);
  if (found === undefined) throw new Error(`No entry says ${words}`);
  return found.id;
}

function words(messages: readonly UIChatMessage[]): string {
  return messages
    .map(({ parts }) => parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join(""))
    .join(" ");
}

async function shown(host: AgentHost, lane?: string): Promise<string> {
  return words(toUIMessages(await host.thread(id, { whole: true }), { lane }));
}

const expecting = (text: string, ...messages: readonly string[]): ScriptedStep => ({
  expect: { messages: messages.map((said) => ({ text: said })) },
  text,
});

describe.each([
  ["memory", () => memoryStore()],
  ["SQLite", () => sqliteStore(fastFile())],
] as const)("branches on %s", (_name, open) => {
  test("a branch shows what it shares, its messages know their siblings, and a switch goes back", async () => {
    const store = await open();
    const host = hostOn(store, [
      expecting("A1", "U1"),
      expecting("A2", "U1", "A1", "U2"),
      expecting("A3", "U1", "A1", "U3"),
      expecting("A4", "U1", "A1", "U3", "A3", "U4"),
      expecting("A5", "U1", "A1", "U5"),
    ]);
    await ask(host, "U1");
    await ask(host, "U2");
    await ask(host, "U3", { branch: { before: await entryOf(host, "U2"), lane: "third" } });
    await ask(host, "U4");
    await ask(host, "U5", { branch: { before: await entryOf(host, "U3"), lane: "fifth" } });
    expect(await shown(host)).toBe("U1 A1 U5 A5");
    expect(await shown(host, "third")).toBe("U1 A1 U3 A3 U4 A4");
    expect(await shown(host, "default")).toBe("U1 A1 U2 A2");
    const siblings = messageSiblings(await host.thread(id));
    expect(siblings).toEqual({ U5: { index: 2, count: 3, lanes: ["default", "third", "fifth"] } });
    const { status } = await host.switchBranch(id, "third");
    expect(status).toBe("applied");
    expect(await shown(host)).toBe("U1 A1 U3 A3 U4 A4");
    expect((await host.switchBranch(id, "third")).status).toBe("duplicate");
    await host.stop();
    const next = hostOn(store, [expecting("A6", "U1", "A1", "U3", "A3", "U4", "A4", "U6")]);
    expect(messageSiblings(await next.thread(id))).toEqual({
      U3: { index: 1, count: 3, lanes: ["default", "third", "fifth"] },
    });
    await ask(next, "U6");
    expect(await shown(next)).toBe("U1 A1 U3 A3 U4 A4 U6 A6");
    await next.stop();
  });

  test("the lane of a sibling is the one that was used last of those that show it", async () => {
    const host = hostOn(await open(), ["A1", "A2", "A3", "A4"]);
    await ask(host, "U1");
    await ask(host, "U2");
    await ask(host, "U3", { branch: { before: await entryOf(host, "U2"), lane: "below" } });
    await ask(host, "U4", { branch: { before: await entryOf(host, "U1"), lane: "top" } });
    const lanes = async () => messageSiblings(await host.thread(id))["U4"]?.lanes;
    expect(await lanes()).toEqual(["below", "top"]);
    await host.switchBranch(id, "default");
    await host.switchBranch(id, "top");
    expect(await lanes()).toEqual(["default", "top"]);
    await host.stop();
  });

  test("an ask that regenerates another is the same message, with two answers", async () => {
    const host = hostOn(await open(), ["A1", "A2", "A3"]);
    await ask(host, "U1", { requestId: "r1" });
    const first = await entryOf(host, "U1");
    const again = { messageId: "U1", regenerates: first };
    await ask(host, "U1", { requestId: "r2", refs: again, branch: { before: first, lane: "second" } });
    await ask(host, "U1", { requestId: "r3", refs: again, branch: { before: first, lane: "third" } });
    expect(await shown(host)).toBe("U1 A3");
    expect(messageSiblings(await host.thread(id))).toEqual({
      r3: { index: 2, count: 3, lanes: ["default", "second", "third"] },
    });
    await host.stop();
  });

  test("the branch and the ask are one append", async () => {
    const store = await open();
    const appends: (readonly string[])[] = [];
    const counted = Object.assign(Object.create(store), {
      append: async (...input: Parameters<ThreadStore["append"]>) => {
        const result = await store.append(...input);
        appends.push(result.entries.map(({ kind }) => kind));
        return result;
      },
    });
    const host = hostOn(counted, ["A1", "A2", "A3"]);
    await ask(host, "U1");
    appends.length = 0;
    await ask(host, "U2", { branch: { before: await entryOf(host, "U1"), lane: "second" } });
    expect(appends[0]).toEqual(["ai_context_operation", "ai_message"]);
    appends.length = 0;
    await ask(host, "U3", { branch: { lane: "default" } });
    expect(appends[0]).toEqual(["ai_context_operation", "ai_message"]);
    expect(await shown(host)).toBe("U1 A1 U3 A3");
    await host.stop();
  });

  test("an ask far before the loaded entries branches there, and one on an unloaded lane has its settings", async () => {
    const store = await open();
    const say = (n: number) => ({
      id: `m${n}`,
      kind: "message",
      payload: { role: n % 2 ? "assistant" : "user", content: `Word ${n}.` },
    });
    await store.append(
      id,
      Array.from({ length: 600 }, (_, n) => say(n)),
    );
    const prompted = { expect: { system: "Be brief." }, text: "Yes." };
    const host = hostOn(store, [expecting("A1", "Word 0.", "Word 1.", "U1"), "Far."]);
    await ask(host, "U1", { branch: { before: "m2", lane: "early" } });
    await (await host.get(id)).setSystemPrompt("Be brief.", { lane: "early" });
    await host.switchBranch(id, "default");
    await ask(host, "Far");
    await host.stop();
    await store.append(
      id,
      Array.from({ length: 300 }, (_, n) => say(1000 + n)),
    );
    const next = hostOn(store, [prompted]);
    expect((await next.thread(id)).firstSeq).toBeGreaterThan(2);
    await ask(next, "U2", { branch: { lane: "early" } });
    expect(await shown(next)).toBe("Word 0. Word 1. U1 A1 U2 Yes.");
    await next.stop();
  });

  test("an ask on another lane has the tools of that lane", async () => {
    const host = hostOn(await open(), ["A1", "A2", { calls: [{ name: "look" }] }, "A3"]);
    await ask(host, "U1");
    await ask(host, "U2", { branch: { before: await entryOf(host, "U1"), lane: "second" } });
    const look = { inputSchema: anything, execute: () => "seen" };
    await (await host.get(id)).registerTool("look", look, { lane: "default" });
    await ask(host, "U3", { branch: { lane: "default" } });
    const [part] =
      toUIMessages(await host.thread(id))
        .at(-1)
        ?.parts.slice(1) ?? [];
    expect(part).toMatchObject({ type: "tool-look", output: "seen" });
    await host.stop();
  });

  test("a queued ask with a branch is taken by another process", async () => {
    const store = await open();
    const slow = [{ text: "A1" }, { text: "Half", hang: true }] as const;
    const agent = (script: readonly ScriptedStep[]) => agentOf(script, { busy: "queue" } as never);
    const host = AgentHost.create({ agent: agent(slow), store, warn });
    await ask(host, "U1");
    await host.ask(id, "U2");
    const before = await entryOf(host, "U1");
    const queued = host.ask(id, "U3", { requestId: "r3", branch: { before, lane: "second" } });
    queued.catch(() => undefined);
    await expect.poll(async () => (await host.pending(id)).length).toBe(1);
    await host.stop({ graceMs: 0 });
    const next = AgentHost.create({ agent: agent(["A2", expecting("A3", "U3")]), store, warn });
    await (await next.get(id)).result("r3").catch(() => undefined);
    await expect.poll(() => shown(next)).toBe("U3 A3");
    await next.stop();
  });

  test("a wrong branch is refused, and the thread is unchanged", async () => {
    const host = hostOn(await open(), ["A1"]);
    await ask(host, "U1");
    const before = JSON.stringify(await host.thread(id));
    const refused = async (branch: object, code: string): Promise<void> => {
      await expect(host.ask(id, "U2", { branch } as never)).rejects.toMatchObject({ code });
    };
    await refused({ before: "nowhere" }, "context_op_entry_unknown");
    await expect(host.branch(id, { before: "m1" })).rejects.toThrow("refs: { messageId");
    await refused({ lane: "nowhere" }, "context_op_lane_unknown");
    await refused({ before: await entryOf(host, "U1"), lane: "default" }, "context_op_lane_exists");
    await refused({ typo: 1 }, "invalid_options");
    await refused({}, "context_op_invalid");
    const { requestId = "" } = (await host.thread(id)).at(0)?.refs ?? {};
    const continued = host.continueRequest(id, requestId, { branch: { lane: "default" } });
    await expect(continued).rejects.toMatchObject({ code: "invalid_options" });
    await expect(host.switchBranch(id, "nowhere")).rejects.toMatchObject({ code: "context_op_lane_unknown" });
    expect(JSON.stringify(await host.thread(id))).toBe(before);
    await host.stop();
  });
});

test("siblings need a thread, all of it or with `partial`", () => {
  expect(() => messageSiblings({} as Thread)).toThrow("messageSiblings needs a Thread");
  expect(() => messageSiblings(Thread.create(), { typo: 1 } as never)).toThrow("typo");
  expect(messageSiblings(Thread.create())).toEqual({});
});
