import { AgentHost, type Entry, memoryStore, type Thread, type ThreadStore, type Tools } from "heddle";
import { type ChatTurnOptions, chatTurn, resumeTurn, toUIMessages, uiMessageStream } from "heddle/ai-sdk";
import { sqliteStore } from "heddle/sqlite";
import type { ScriptedStep } from "heddle/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { fastFile } from "../../support/temp-folder.ts";
import { agentOf, anything, readBySdk } from "./chat.ts";

const id = "thread_c";
const said = (text: string, messageId: string) => ({ id: messageId, role: "user", parts: [{ type: "text", text }] });

/** A tool that runs until it is opened. */
function gate() {
  const begun = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<string>();
  const execute = (): Promise<string> => {
    begun.resolve();
    return opened.promise;
  };
  return { look: { inputSchema: anything, execute }, begun: begun.promise, open: () => opened.resolve("seen") };
}

const LOOK = { calls: [{ name: "look" }] } as const;
const PAY = { calls: [{ id: "call_p", name: "pay" }] } as const;

/** Two hosts behind a load balancer. The first holds the thread after its first post. */
function twoNodes(stores: readonly [ThreadStore, ThreadStore], script: readonly ScriptedStep[], tools: Tools = {}) {
  const [one, two] = stores.map((store) => {
    const host = AgentHost.create({ agent: agentOf(script, { tools }), store, warn: () => undefined });
    onTestFinished(() => host.stop({ graceMs: 0 }));
    return host;
  }) as [AgentHost, AgentHost];
  const post = (host: AgentHost, text: string, messageId: string, options: ChatTurnOptions = {}) =>
    chatTurn(host, id, [said(text, messageId)], options);
  return { one, two, post };
}

describe.each([
  [
    "memory",
    () => {
      const store = memoryStore();
      return [store, store] as const;
    },
  ],
  [
    "SQLite",
    () => {
      const file = fastFile();
      return [sqliteStore(file), sqliteStore(file)] as const;
    },
  ],
] as const)("a chat on the process that does not hold the thread, on %s", (_name, open) => {
  test("answers the next message", async () => {
    const { one, two, post } = twoNodes(open(), ["Hello.", "Hello."]);
    await (await post(one, "Hi", "m1")).request.result;
    const { request, ...turn } = await post(two, "Again", "m2");
    const { message } = await readBySdk(uiMessageStream(request, turn));
    expect(message).toEqual(toUIMessages(await two.thread(id)).at(-1));
    expect(toUIMessages(await two.thread(id)).map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "user",
      "assistant",
    ]);
  });

  test("adds a message to the answer that runs, once, and a reload there follows it", async () => {
    const { look, begun, open: finish } = gate();
    const { one, two, post } = twoNodes(open(), [LOOK, "By train."], { look });
    const first = await post(one, "Oslo?", "m1");
    await begun;
    const reloaded = await resumeTurn(two, id);
    const [second, again] = [await post(two, "By train.", "m2"), await post(two, "By train.", "m2")];
    expect([second, again].map(({ request, joined }) => [request.id, joined])).toEqual([
      [first.request.id, true],
      [first.request.id, true],
    ]);
    finish();
    expect((await second.request.result).text).toBe("By train.");
    const { request, ...turn } = reloaded ?? second;
    const { message, errors } = await readBySdk(uiMessageStream(request, turn));
    expect([message, errors]).toEqual([toUIMessages(await one.thread(id)).at(-1), []]);
    const parts = toUIMessages(await one.thread(id)).at(-1)?.parts ?? [];
    expect(parts.filter(({ type }) => type === "steering-message")).toHaveLength(1);
  });

  test("approves, and shows what follows", async () => {
    const pay = { inputSchema: anything, needsApproval: true, execute: () => "paid" };
    const { one, two, post } = twoNodes(open(), [PAY, "Paid."], { pay });
    const { request } = await post(one, "Pay.", "m1");
    await request.settled();
    const messages = toUIMessages(await two.thread(id));
    const last = messages.at(-1);
    const parts = last?.parts.map((part) =>
      "approval" in part && part.approval !== undefined
        ? { ...part, state: "approval-responded", approval: { id: part.approval.id, approved: true } }
        : part,
    );
    const turn = await chatTurn(two, id, [{ ...last, parts }] as never);
    expect((await turn.request.result).text).toBe("Paid.");
    expect((await one.result(id, request.id)).text).toBe("Paid.");
  });

  test("takes words for an open approval as its denial, and cancels where the policy says so", async () => {
    const pay = { inputSchema: anything, needsApproval: true, execute: () => "paid" };
    const { look, begun } = gate();
    const { one, two, post } = twoNodes(open(), [PAY, "Not paid.", LOOK, "Instead."], { pay, look });
    const { request } = await post(one, "Pay.", "m1");
    await request.settled();
    const denied = await post(two, "No, wait.", "m2");
    expect(denied).toMatchObject({ joined: true });
    expect((await denied.request.result).text).toBe("Not paid.");
    expect(asks(await one.thread(id))).toHaveLength(1);
    const running = await post(one, "Look.", "m3");
    await begun;
    const instead = await post(two, "Something else.", "m4", { busy: "cancel" });
    await expect(running.request.result).rejects.toMatchObject({ code: "request_cancelled" });
    expect(instead.request.id).not.toBe(running.request.id);
  });

  test("a repeated message that waits for the next step does not deny the call that is asked for meanwhile", async () => {
    const pay = { inputSchema: anything, needsApproval: true, execute: () => "paid" };
    const { one, two, post } = twoNodes(open(), [{ ...PAY, delayMs: 200 }, "Paid."], { pay });
    const { request } = await post(one, "Pay.", "m1");
    expect(await post(one, "From my account.", "m2")).toMatchObject({ joined: true });
    await request.settled();
    for (const host of [one, two]) expect((await post(host, "From my account.", "m2")).joined).toBe(true);
    expect(await one.waiting(id)).toHaveLength(1);
    await two.approve(id, "call_p");
    expect((await request.result).text).toBe("Paid.");
    const users = (await one.thread(id))
      .toArray()
      .filter(({ payload }) => "role" in payload && payload["role"] === "user");
    expect(users.map(({ payload }) => (payload as { readonly content?: unknown }).content)).toEqual([
      "Pay.",
      "From my account.",
    ]);
  });

  test.each(["steer", "resume"] as const)(
    "asks a message once that is posted twice while its request ends (before %s)",
    async (name) => {
      const { look, begun, open: finish } = gate();
      const { one, two, post } = twoNodes(open(), [LOOK, "By train."], { look });
      const { request } = await post(one, "Oslo?", "m1");
      await begun;
      let calls = 0;
      const late = new Proxy(two, {
        get(host, called) {
          const member: unknown = Reflect.get(host, called, host);
          if (typeof member !== "function") return member;
          return async (...args: unknown[]) => {
            if (called === name && ++calls === (name === "resume" ? 2 : 1)) {
              await post(one, "By train.", "m2");
              finish();
              await request.result;
            }
            return Reflect.apply(member, host, args);
          };
        },
      });
      const again = await post(late, "By train.", "m2");
      expect([again.joined, again.request.id]).toEqual([true, request.id]);
      expect(asks(await one.thread(id))).toHaveLength(1);
    },
  );

  test("asks a message whose approval another person decides at the same moment", async () => {
    const pay = { inputSchema: anything, needsApproval: true, execute: () => "paid" };
    const { one, two, post } = twoNodes(open(), [PAY, "Paid."], { pay });
    const { request } = await post(one, "Pay.", "m1");
    await request.settled();
    const late = new Proxy(two, {
      get(host, name) {
        const member: unknown = Reflect.get(host, name, host);
        if (typeof member !== "function") return member;
        return async (...args: unknown[]) => {
          if (name === "deny") {
            await one.approve(id, "call_p");
            await request.result;
          }
          return Reflect.apply(member, host, args);
        };
      },
    });
    const { request: next } = await post(late, "No, wait.", "m2");
    expect(next.id).not.toBe(request.id);
    expect(asks(await one.thread(id))).toHaveLength(2);
  });

  test.each(["deny", "steer"] as const)(
    "asks a message once that joins a request (%s), also when that ends before it is found again",
    async (how) => {
      const pay = { inputSchema: anything, needsApproval: true, execute: () => "paid" };
      const { look, begun, open: finish } = gate();
      const { one, two, post } = twoNodes(open(), [how === "deny" ? PAY : LOOK, "Noted."], { pay, look });
      const { request } = await post(one, "Go.", "m1");
      await (how === "deny" ? request.settled() : begun);
      let hasJoined = false;
      // The process is slow between its decision and its next look at the thread.
      const slow = new Proxy(two, {
        get(host, name) {
          const member: unknown = Reflect.get(host, name, host);
          if (typeof member !== "function") return member;
          return async (...args: unknown[]) => {
            if (name === "resume" && hasJoined) {
              finish();
              await request.result;
            }
            if (name === "deny" || name === "steer") hasJoined = true;
            return Reflect.apply(member, host, args);
          };
        },
      });
      const joined = await post(slow, "No, wait.", "m2");
      expect([joined.joined, joined.request.id]).toEqual([true, request.id]);
      const { message } = await readBySdk(uiMessageStream(joined.request, joined));
      expect(message).toEqual(toUIMessages(await two.thread(id)).at(-1));
      expect(asks(await one.thread(id))).toHaveLength(1);
    },
  );
});

function asks(thread: Thread): readonly Entry[] {
  return thread.toArray().filter(({ payload }) => {
    const { role, steer } = payload as { readonly role?: string; readonly steer?: string }; // of a message
    return role === "user" && steer === undefined;
  });
}
