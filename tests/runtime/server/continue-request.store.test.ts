import { AgentHost, defineAgent, memoryStore, type ThreadStore } from "heddle";
import { toUIMessages } from "heddle/ai-sdk";
import { sqliteStore } from "heddle/sqlite";
import { scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { fastFile } from "../../support/temp-folder.ts";
import {
  anything,
  eventsOf,
  expectWhole,
  failureOf,
  gate,
  proveAll,
  type Stage,
  stage,
  told,
} from "../support/stage.ts";

const look = { inputSchema: anything, execute: () => "seen" };
const LOOK = { calls: [{ id: "c1", name: "look" }] };
const DOWN = { error: { status: 401 } } as never;

const stores: readonly (readonly [string, () => ThreadStore])[] = [
  ["memory", memoryStore],
  ["SQLite", () => sqliteStore(fastFile())],
];

/** A request that fails after a tool exchange, and its id. */
async function failed(on: Stage): Promise<string> {
  const server = await on.start({ script: [LOOK, DOWN], tools: { look }, modelMaxRetries: 0 });
  const { id, result } = await on.end(server.ask("Look."));
  expect((await on.end(failureOf(result))).code).toBe("request_failed");
  await on.end(server.stop());
  return id;
}

for (const [name, open] of stores)
  describe(`continueRequest in ${name}`, () => {
    test("a second call while the continuation runs returns it, also without a requestId", async () => {
      const on = await stage({ store: open() });
      const id = await failed(on);
      const server = await on.start({ script: [{ hang: true }], tools: { look } });
      const first = await on.end(server.continueRequest(id));
      expect((await on.end(server.continueRequest(id))).id).toBe(first.id);
      const other = on.end(server.continueRequest(id, { requestId: "req_other" }));
      expect((await failureOf(other)).code).toBe("busy");
      await on.end(server.cancel());
    });

    test.each(["reject", "queue"] as const)("two calls at once are one request, with busy: %s", async (busy) => {
      const on = await stage({ store: open() });
      const id = await failed(on);
      const server = await on.start({ script: [{ hang: true }], tools: { look }, busy });
      const [first, second] = await on.end(Promise.all([server.continueRequest(id), server.continueRequest(id)]));
      expect(second.id).toBe(first.id);
      expect(await on.end(server.pending())).toEqual([]);
      await on.end(server.cancel());
      expect(told(await on.log()).filter((line) => line === "note")).toHaveLength(1);
    });

    test("in a later process it continues after the failure, with the ask and its results", async () => {
      const on = await stage({ store: open() });
      const id = await failed(on);
      const server = await on.start({
        script: [{ expect: { endsWith: [{ results: [{ id: "c1" }] }] }, text: "Seen." }],
        tools: { look },
      });
      const request = await on.end(server.continueRequest(id));
      expect(request.id).not.toBe(id);
      expect((await on.end(request.result)).text).toBe("Seen.");
      expect(told(await on.log())).toEqual([
        "ask Look.",
        "calls c1",
        "result c1",
        "error end:failed",
        "note",
        "says Seen. end:completed",
      ]);
      expect((await on.log())[4]?.payload).toMatchObject({ continues: id, requestId: request.id });
      const events = await eventsOf(request);
      expectWhole(events);
      expect(events[0]).toMatchObject({ kind: "request_started", data: { continues: id } });
      expect((await on.end(failureOf(server.result(id)))).code).toBe("request_failed");
      await on.end(server.stop());
      const third = await on.start({ tools: { look } });
      expect((await on.end(third.result(request.id))).text).toBe("Seen.");
      expect(await proveAll(on.store, on.threadId)).toBe(3);
      await on.end(third.stop());
      await on.store.close();
    });

    test("a process that is killed after the first entry of it is followed by one that resumes it", async () => {
      const killed = gate();
      const never = new Promise<never>(() => undefined);
      let isArmed = false;
      const around = (store: ThreadStore): ThreadStore => ({
        ...store,
        append: async (threadId, entries, options) => {
          const result = await store.append(threadId, entries, options);
          const isStart = [entries].flat().some(({ payload }) => payload?.["continues"] !== undefined);
          if (!isArmed || !isStart) return result;
          killed.resolve();
          return never;
        },
      });
      const on = await stage({ store: open(), around });
      const id = await failed(on);
      isArmed = true;
      const first = await on.start({ tools: { look } }, { holder: "h" });
      void first.continueRequest(id, { maxIterations: 2 }).catch(() => undefined);
      await on.end(killed.promise);
      const second = await on.start({ script: ["Seen."], tools: { look } }, { holder: "h" });
      const newId = String((await on.log())[4]?.payload["requestId"]);
      expect((await on.end(second.result(newId))).text).toBe("Seen.");
      expect(told(await on.log()).slice(4)).toEqual(["note", "note", "says Seen. end:completed"]); // the second is the attempt
      await on.end(second.stop());
      await on.store.close();
    });
  });

test("after a cancel in the middle of an answer the model is asked to continue, and pages do not show that", async () => {
  const on = await stage();
  const server = await on.start({
    script: [
      { text: ["One, ", "two"], hang: true } as never,
      { expect: "Your answer was interrupted here. Continue.", text: ", three." },
    ],
  });
  const asked = await on.end(server.ask("Count."));
  for await (const _text of asked.textStream) break;
  await on.end(server.cancel(asked.id));
  const request = await on.end(server.continueRequest(asked.id));
  expect((await on.end(request.result)).text).toBe(", three.");
  const log = told(await on.log());
  expect(log.filter((line) => line.startsWith("ask"))).toHaveLength(1);
  expect(log.at(-2)).toMatch(/^continue /);
  const page = toUIMessages(await server.thread());
  expect(page.map(({ role }) => role)).toEqual(["user", "assistant"]);
  expect(JSON.stringify(page)).not.toMatch(/interrupted|cancelled/);
  await on.end(server.stop());
});

describe("after the context was replaced", () => {
  const short = { role: "user", content: "In short: look." };
  const cases = [
    ["a tool exchange", [], "request_superseded"],
    ["a tool exchange", [short], [["user", "In short: look."]]],
    ["an interrupted answer", [], "request_superseded"],
    ["an interrupted answer", [short], [["user", "In short: look."]]],
    [
      "a tool exchange",
      [short, { role: "assistant", content: "I did." }],
      [
        ["user", "In short: look."],
        ["assistant", "I did."],
        ["user", "Your answer was interrupted here. Continue."],
      ],
    ],
  ] as const;
  test.each(cases)("of %s with %o the model is shown %o", async (what, entries, shown) => {
    const on = await stage();
    let prompt: unknown;
    const last = ({ messages }: { readonly messages: readonly { readonly role: string; readonly text: string }[] }) => {
      prompt = messages.map(({ role, text }) => [role, text]);
      return "Done.";
    };
    const script = what === "a tool exchange" ? [LOOK, DOWN] : [{ text: ["One, ", "two"], hang: true }];
    const server = await on.start({ script: [...script, last] as never, tools: { look }, modelMaxRetries: 0 });
    const asked = await on.end(server.ask("Look."));
    if (what !== "a tool exchange") {
      for await (const _text of asked.textStream) break;
      await on.end(server.cancel(asked.id));
    }
    await on.end(failureOf(asked.result));
    const operation = { type: "replace", reason: "manual", resultContext: { id: "short", entries } } as const;
    await on.end(server.modifyContext({ opId: "short", operation } as never));
    const before = (await on.log()).length;
    if (shown === "request_superseded") {
      expect((await on.end(failureOf(server.continueRequest(asked.id)))).code).toBe(shown);
      expect((await on.log()).length).toBe(before);
    } else {
      await on.end((await on.end(server.continueRequest(asked.id))).result);
      expect(prompt).toEqual(shown);
    }
    await on.end(server.stop());
  });
});

test("after a limit it has the whole limit again", async () => {
  const on = await stage();
  const server = await on.start({ script: [LOOK, "Seen."], tools: { look }, maxIterations: 1 });
  const { id, result } = await on.end(server.ask("Look."));
  expect((await on.end(result)).terminationReason).toBe("max_iterations");
  const { text, terminationReason } = await on.end((await on.end(server.continueRequest(id))).result);
  expect([text, terminationReason]).toEqual(["Seen.", "final_answer"]);
  await on.end(server.stop());
});

test("options and tools of the ask hold, and are made again by the functions of the server", async () => {
  const on = await stage();
  const seen: unknown[] = [];
  const own = {
    mine: {
      inputSchema: anything,
      execute: (_: unknown, { context }: { context: unknown }) => void seen.push(context),
    },
  };
  const first = await on.start({ script: [DOWN], modelMaxRetries: 0 });
  const { id, result } = await on.end(
    first.ask("Go.", { tools: own, context: { user: "ann" }, maxIterations: 3 } as never),
  );
  await on.end(failureOf(result));
  await on.end(first.stop());
  const again = { context: () => ({ user: "ann again" }), tools: () => own } as never;
  const second = await on.start({ script: [{ calls: [{ name: "mine" }] }, "Done."] }, again);
  const request = await on.end(second.continueRequest(id));
  expect((await on.end(request.result)).text).toBe("Done.");
  expect(seen).toEqual([{ user: "ann again" }]);
  expect((await on.log())[2]?.payload).toMatchObject({
    options: { maxIterations: 3, hasContext: true, askedTools: ["mine"] },
  });
  await on.end(second.stop());
  const lost = await on.start({ script: [DOWN], modelMaxRetries: 0 });
  const other = await on.end(lost.ask("Go.", { tools: own } as never));
  await on.end(failureOf(other.result));
  await on.end(lost.stop());
  const third = await on.start({ script: ["Never."] });
  const bare = await on.end(third.continueRequest(other.id));
  expect((await on.end(failureOf(bare.result))).failure?.code).toBe("options_lost");
  await on.end(third.stop());
});

describe("an ask that no caller of this process made is continued with the context and tools of the functions", () => {
  const posted = { id: "q1", type: "ask", content: "One." };
  test.each<readonly [string, (host: AgentHost, store: ThreadStore) => Promise<unknown>, object]>([
    ["posted", (_, store) => store.post("t", posted), { seen: [{ account: "me" }], options: {} }],
    [
      "posted with allowed tools, which stay",
      (_, store) => store.post("t", { ...posted, allowedTools: ["look"] }),
      { seen: [], options: { allowedTools: ["look"] } },
    ],
    [
      "injected",
      (host) => host.inject("t", "One.", { id: "q1", source: "monitor", wake: true }),
      { seen: [{ account: "me" }], options: {} },
    ],
  ])("%s", async (_what, send, expected) => {
    const store = memoryStore();
    const seen: unknown[] = [];
    const execute = (_: unknown, { context }: { context: unknown }) => void seen.push(context);
    const agent = defineAgent({
      model: scriptedModel([DOWN, { calls: [{ name: "mine" }] }, "Done."]),
      systemPrompt: ({ account }: { account: string }) => `You serve ${account}.`,
      tools: { look },
      modelMaxRetries: 0,
    });
    const tools = () => ({ mine: { inputSchema: anything, execute } });
    const host = AgentHost.create({ agent, store, context: () => ({ account: "me" }), tools: tools as never }); // its context has a type
    await host.get("t");
    await send(host, store);
    await store.outcome("t", "q1");
    expect((await failureOf(host.result("t", "q1"))).code).toBe("request_failed");
    const { result, id } = await host.continueRequest("t", "q1");
    expect((await result).text).toBe("Done.");
    const entries = (await store.load("t"))?.filterByRef("requestId", id) ?? [];
    const [options = {}] = entries.flatMap(({ payload }) => ("options" in payload ? [payload["options"]] : []));
    expect({ seen, options }).toEqual(expected);
    await host.stop();
  });
});

test("a request that a newer one came after is superseded before any value is made for it", async () => {
  const on = await stage();
  const made: string[] = [];
  const script = [DOWN, "Two."];
  const config = { script, modelMaxRetries: 0, systemPrompt: ({ user }: { user: string }) => user };
  const server = await on.start(config as never, { context: () => made.push("context") && { user: "me" } } as never);
  const first = await on.end(server.ask("1?", { context: { user: "ann" } } as never));
  await on.end(failureOf(first.result));
  const second = await on.end(server.ask("2?", { context: { user: "ann" } } as never));
  await on.end(second.result);
  const refused = await on.end(failureOf(server.continueRequest(first.id, { requestId: "again" })));
  expect([refused.code, made]).toEqual(["request_superseded", []]);
  await on.end(server.stop());
});

describe("continueRequest is refused", () => {
  const codeOf = async (on: Stage, work: Promise<unknown>): Promise<string> => (await on.end(failureOf(work))).code;

  test("while the request runs, when it is unknown, complete, or not the last one; and the log is as it was", async () => {
    const on = await stage();
    const server = await on.start({ script: [DOWN, "Two.", { hang: true }], modelMaxRetries: 0, busy: "queue" });
    const first = await on.end(server.ask("1?"));
    await on.end(failureOf(first.result));
    const second = await on.end(server.ask("2?"));
    await on.end(second.result);
    const before = (await on.log()).length;
    expect(await codeOf(on, server.continueRequest("unknown"))).toBe("request_not_found");
    expect(await codeOf(on, server.continueRequest(second.id))).toBe("request_completed");
    expect(await codeOf(on, server.continueRequest(first.id))).toBe("request_superseded");
    expect((await on.log()).length).toBe(before);
    const third = await on.end(server.ask("3?"));
    expect(await codeOf(on, server.continueRequest(third.id))).toBe("request_running");
    await on.end(server.cancel(third.id));
    await on.end(server.stop());
  });

  test("a repeated call with an id of its own is the same request, and other content under it is refused", async () => {
    const on = await stage();
    const id = await failed(on);
    const server = await on.start({ script: ["Seen."], tools: { look } });
    const one = await on.end(server.continueRequest(id, { requestId: "again" }));
    await on.end(one.result);
    const same = await on.end(server.continueRequest(id, { requestId: "again" }));
    expect([same.id, (await on.end(same.result)).text]).toEqual(["again", "Seen."]);
    expect(await codeOf(on, server.ask("Other.", { requestId: "again" }))).toBe("request_id_reused");
    await on.end(server.stop());
  });
});

test("a host continues a request of a thread", async () => {
  const store = memoryStore();
  const model = scriptedModel([DOWN, "Two."]);
  const host = AgentHost.create({ agent: defineAgent({ model, modelMaxRetries: 0 }), store });
  const { id, result } = await host.ask("t", "1?");
  expect((await failureOf(result)).code).toBe("request_failed");
  expect((await (await host.continueRequest("t", id)).result).text).toBe("Two.");
  expect((await failureOf(host.continueRequest("t", id))).code).toBe("request_superseded");
  await host.stop();
});
