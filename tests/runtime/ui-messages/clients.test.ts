import { AgentHost, memoryStore, Thread, type ThreadStore, type Tools } from "heddle";
import { chatTurn, toUIMessages, type UIChatMessage, uiMessageStreamResponse } from "heddle/ai-sdk";
import type { ScriptedStep } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { agentOf, anything, chat } from "./chat.ts";
import { CLIENTS, type PageChat } from "./clients.ts";

const tools: Tools = {
  pay: { inputSchema: anything, needsApproval: true, execute: () => ({ paid: true }) },
  look: { inputSchema: anything, execute: () => "seen" },
};

function hostOn(store: ThreadStore, script: readonly ScriptedStep[]) {
  return AgentHost.create({ agent: agentOf(script, { tools }), store, warn: () => undefined });
}

const paying = { text: "I pay.", calls: [{ name: "pay", arguments: { n: 1 } }, { name: "look" }] };

function textIn(message: UIChatMessage | undefined): string {
  return (message?.parts ?? []).flatMap((part) => (part.type === "text" ? [part.text] : [])).join("|");
}

async function loaded(store: ThreadStore, client: 6 | 7): Promise<UIChatMessage[]> {
  const thread = await store.load("thread_c");
  return thread === undefined ? [] : toUIMessages(thread, { client });
}

function approvalIn(page: PageChat): string {
  const [id] = (page.messages.at(-1)?.parts ?? []).flatMap((part) =>
    "approval" in part && part.approval !== undefined ? [part.approval.id] : [],
  );
  if (id === undefined) throw new Error("Nothing waits.");
  return id;
}

describe.each(CLIENTS)("a page with AI SDK $version", (client) => {
  test("is answered, asked for an approval, and gets its result", async () => {
    const store = memoryStore();
    const host = hostOn(store, [paying, "Paid."]);
    const page = client.open(host);
    await page.sendMessage({ text: "Pay" });
    await page.addToolApprovalResponse({ id: approvalIn(page), approved: true });
    await expect.poll(() => textIn(page.messages.at(-1))).toBe("I pay.|Paid.");
    await expect.poll(() => page.status).toBe("ready");
    expect(page.error).toBeUndefined();
    expect(page.messages.at(-1)?.parts[2]).toMatchObject({ state: "output-available", output: { paid: true } });
    const reloaded = client.open(host, await loaded(store, client.version));
    await reloaded.resumeStream();
    expect([reloaded.error, textIn(reloaded.messages.at(-1))]).toEqual([undefined, "I pay.|Paid."]);
    await host.stop();
  });

  test("comes back to a message that it has a part of, and has its text once", async () => {
    const store = memoryStore();
    const host = hostOn(store, [paying, "Paid."]);
    await client.open(host).sendMessage({ text: "Pay" });
    const page = client.open(host, await loaded(store, client.version));
    await page.resumeStream();
    expect(page.error).toBeUndefined();
    expect(page.messages.map(textIn)).toEqual(["Pay", "I pay."]);
    expect(page.messages.at(-1)?.parts[2]).toMatchObject({ type: "tool-pay", state: "approval-requested" });
    await page.addToolApprovalResponse({ id: approvalIn(page), approved: true });
    await expect.poll(() => textIn(page.messages.at(-1))).toBe("I pay.|Paid.");
    await host.stop();
  });

  test("comes back to a call that was approved elsewhere", async () => {
    const store = memoryStore();
    const running = Promise.withResolvers<void>();
    const result = Promise.withResolvers<string>();
    const execute = (): Promise<string> => {
      running.resolve();
      return result.promise;
    };
    const slow: Tools = { pay: { inputSchema: anything, needsApproval: true, execute } };
    const agent = agentOf([{ calls: [{ name: "pay" }] }, "Paid."], { tools: slow });
    const host = AgentHost.create({ agent, store, warn: () => undefined });
    await client.open(host).sendMessage({ text: "Pay" });
    await (await host.get("thread_c")).approve("call_1");
    await running.promise;
    const page = client.open(host, await loaded(store, client.version));
    const resumed = page.resumeStream();
    const state = client.version === 6 ? "input-available" : "approval-responded";
    await expect.poll(() => page.messages.at(-1)?.parts[1]).toMatchObject({ type: "tool-pay", state });
    result.resolve("done");
    await resumed;
    expect([page.error, textIn(page.messages.at(-1))]).toEqual([undefined, "Paid."]);
    await host.stop();
  });

  test("shows what was steered in", async () => {
    const store = memoryStore();
    const look = {
      inputSchema: anything,
      execute: async () => {
        await (await host.get("thread_c")).steer("Take the train.", { id: "steer_1" });
        return "seen";
      },
    };
    const agent = agentOf([{ calls: [{ name: "look" }] }, "The train."], { tools: { look } });
    const host = AgentHost.create({ agent, store, warn: () => undefined });
    const page = client.open(host);
    await page.sendMessage({ text: "Oslo?" });
    expect(page.error).toBeUndefined();
    const parts = [{ type: "text", text: "Take the train." }];
    const part =
      client.version === 6
        ? { type: "data-steering-message", id: "steer_1", data: { parts } }
        : { type: "steering-message", id: "steer_1", parts };
    expect(page.messages.at(-1)?.parts).toContainEqual(part);
    const messages = await loaded(store, client.version);
    expect(messages.at(-1)?.parts).toContainEqual(part);
    await client.validate(messages);
    await host.stop();
  });

  test("reads how a request ended as a reload shows it", async () => {
    const tools: Tools = {
      stop: {
        inputSchema: anything,
        execute: async () => {
          await (await host.get("thread_c")).cancel(undefined, "Enough.");
          return new Promise(() => undefined);
        },
      },
    };
    const store = memoryStore();
    const error = { status: 400, message: "wrong" };
    const agent = agentOf([{ error }, { text: ["Half"], after: 1, error }, { calls: [{ name: "stop" }] }], { tools });
    const host = AgentHost.create({ agent, store, warn: () => undefined });
    for (const text of ["One", "Two", "Three"]) {
      const page = client.open(host);
      await page.sendMessage({ text });
      const [shown, reloaded] = [page.messages.at(-1), (await loaded(store, client.version)).at(-1)];
      expect([shown?.id, shown?.metadata]).toEqual([reloaded?.id, reloaded?.metadata]);
      expect(shown?.metadata?.heddle.status).toBe(text === "Three" ? "cancelled" : "failed");
      const types = reloaded?.parts.map(({ type }) => type) ?? [];
      // The page posts an answer whose calls are complete by itself, and gets an empty step.
      expect(shown?.parts.map(({ type }) => type)).toEqual(text === "Three" ? [...types, "step-start"] : types);
    }
    await host.stop();
  });
});

test.each(CLIENTS)(
  "a page of AI SDK $version that sends by itself is quiet after an answer that ended with a tool",
  async (client) => {
    const store = memoryStore();
    const agent = agentOf([{ text: "There.", calls: [{ name: "look" }] }], { tools, maxIterations: 1 });
    const host = AgentHost.create({ agent, store, warn: () => undefined });
    const page = client.open(host);
    await page.sendMessage({ text: "Go." });
    expect([page.status, page.error]).toEqual(["ready", undefined]);
    const [, answer] = await loaded(store, client.version);
    expect(page.messages.at(-1)).toEqual({ ...answer, parts: [...(answer?.parts ?? []), { type: "step-start" }] });
    const posted = page.messages as UIChatMessage[];
    await expect(chatTurn(host, "thread_c", posted)).rejects.toMatchObject({ code: "not_waiting" });
    const other = JSON.parse(JSON.stringify([posted[0], answer]).replace("seen", "not seen")) as UIChatMessage[];
    await expect(chatTurn(host, "thread_c", other)).rejects.toMatchObject({ code: "not_waiting" });
    await host.stop();
  },
);

test.each(CLIENTS)(
  "an approval that was imported is no denial, and exported as it was, in AI SDK $version",
  async (client) => {
    const [base, approval] = [{ type: "tool-pay", toolCallId: "c1", input: { n: 1 } } as const, { id: "a1" }];
    const open = { ...base, state: "approval-requested", approval };
    const list = [{ id: "m1", role: "assistant", parts: [{ type: "step-start" }, open] }];
    const thread = Thread.fromMessages(list, { format: "ui-messages" });
    const shown = toUIMessages(thread, { client: client.version });
    const errorText = "This call was imported before it was decided. It has not run.";
    expect(shown[0]?.parts[1]).toEqual({ ...base, state: "output-error", errorText });
    await client.validate(shown);
    expect(thread.toMessages({ format: "ui-messages" })).toEqual(list);
  },
);

test("a partly loaded message is left to the stream where a client of AI SDK 6 would add to it", async () => {
  const store = memoryStore();
  const host = hostOn(store, [paying]);
  const asked: UIChatMessage = { id: "m1", role: "user", parts: [{ type: "text", text: "Pay" }] };
  const { request } = await chatTurn(host, "thread_c", [asked]);
  await uiMessageStreamResponse(request).text();
  expect((await loaded(store, 7)).map(textIn)).toEqual(["Pay", "I pay."]);
  expect((await loaded(store, 6)).map(textIn)).toEqual(["Pay"]);
  await host.stop();
});

test("a version that there is none of is refused", async () => {
  const options = { client: 5 } as never;
  expect(() => toUIMessages(Thread.create(), options)).toThrow("client must be 6 or 7");
  const { server } = await chat(["Hi."]);
  const request = await server.ask("Hi");
  expect(() => uiMessageStreamResponse(request, options)).toThrow("client must be 6 or 7");
});
