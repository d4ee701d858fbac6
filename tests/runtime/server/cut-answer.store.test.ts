import { AgentHost, createProjector, defineAgent, memoryStore, project } from "heddle";
import { toUIMessages } from "heddle/ai-sdk";
import { sqliteStore } from "heddle/sqlite";
import { scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { LoggedRequest } from "../../../src/runtime/ui-messages/logged-events.ts";
import { fastFile } from "../../support/temp-folder.ts";
import { anything, eventsOf, failureOf, gate, proveAll, type Stage, stage } from "../support/stage.ts";

type Server = Awaited<ReturnType<Stage["start"]>>;

const NODE = { holder: "node" };
const run = async (on: Stage, server: Server, text: string, requestId?: string) =>
  on.end((await on.end(server.ask(text, (requestId && { requestId }) as never))).result);
const sees = (...texts: string[]) => ({ expect: { messages: texts.map((text) => ({ text })) }, text: "Ok." });
const cuts = async (on: Stage) => (await on.log()).filter(({ payload }) => "cut" in payload);

describe.each([
  ["memory", () => memoryStore()],
  ["SQLite", () => sqliteStore(fastFile())],
])("cutAnswer on %s", (_name, open) => {
  test("shows the model what was spoken, of the last and of an earlier answer, also after a restart", async () => {
    const on = await stage({ store: open() });
    const server = await on.start({ script: ["It rains in Bern.", sees("How?", "It rains", "And Oslo?")] }, NODE);
    await run(on, server, "How?", "r1");
    const { entryId, characters } = await on.end(server.cutAnswer({ requestId: "r1", spoken: "It  rains" }));
    expect([entryId, characters]).toEqual([(await on.log())[1]?.id, 8]);
    await run(on, server, "And Oslo?");
    await on.end(server.cutAnswer({ entryId, characters: 2 }));
    await on.end(server.stop());
    const next = await on.start(
      {
        script: [
          sees("How?", "It", "And Oslo?", "Ok.", "And?"),
          sees("How?", "And Oslo?", "Ok.", "And?", "Ok.", "More?"),
        ],
      },
      NODE,
    );
    await run(on, next, "And?");
    await on.end(next.cutAnswer({ entryId, spoken: "" }));
    await run(on, next, "More?");
    expect((await on.log())[1]?.payload).toMatchObject({ content: "It rains in Bern." });
    expect(await proveAll(on.store, on.threadId)).toBe(4);
  });

  test("is applied once for its opId, and other content under it is refused", async () => {
    const on = await stage({ store: open() });
    const server = await on.start({ script: ["It rains.", ...Array.from({ length: 80 }, () => "Ok.")] }, NODE);
    await run(on, server, "How?", "r1");
    const cut = { requestId: "r1", characters: 2, opId: "op_1" };
    for (let count = 0; count < 2; count++) await on.end(server.cutAnswer({ ...cut, source: "phone" }));
    expect(await cuts(on)).toMatchObject([
      {
        kind: "note",
        refs: { source: "phone" },
        payload: { opId: "op_1", contextRef: "default", cut: { seq: 1, characters: 2 } },
      },
    ]);
    await expect(on.end(server.cutAnswer({ ...cut, characters: 3 }))).rejects.toMatchObject({
      code: "context_op_id_reused",
    });
    for (let count = 0; count < 80; count++) await run(on, server, `Question ${count}: ${"long ".repeat(90)}`);
    await on.end(server.stop());
    const tail = await on.start(
      { script: ["Ok."], contextPolicy: { maxInputTokens: 4_000, reserveOutputTokens: 1_000 } },
      NODE,
    );
    expect((await tail.thread()).firstSeq).toBeGreaterThan(3);
    await on.end(tail.cutAnswer({ ...cut, source: "phone" }));
    await expect(on.end(tail.cutAnswer({ ...cut, characters: 3 }))).rejects.toMatchObject({
      code: "context_op_id_reused",
    });
    await on.end(tail.cutAnswer({ requestId: "r1", spoken: "It r", opId: "op_2" }));
    expect((await cuts(on)).map(({ payload }) => payload["cut"])).toEqual([
      { seq: 1, characters: 2 },
      { seq: 1, characters: 4 },
    ]);
    await run(on, tail, "Still there?");
  });

  test("cuts an answer with calls while they run: calls and results stay together", async () => {
    const on = await stage({ store: open() });
    const opened = gate();
    const look = { inputSchema: anything, execute: () => opened.promise.then(() => "seen") };
    const server = await on.start({
      tools: { look },
      script: [
        { text: "Let me look that up.", calls: [{ name: "look" }] },
        {
          expect: { messages: [{ text: "How?" }, { text: "Let me" }, { role: "tool" }, { text: "Be quick." }] },
          text: "Rain.",
        },
      ],
    });
    const { result, id } = await on.end(server.ask("How?"));
    await on.settled();
    await on.end(server.cutAnswer({ requestId: id, spoken: "Let me" }));
    await on.end(server.steer("Be quick."));
    opened.resolve();
    expect((await on.end(result)).text).toBe("Rain.");
    await proveAll(on.store, on.threadId);
  });

  test("cuts the words before a call, which an event names", async () => {
    const on = await stage({ store: open() });
    const tools = { look: { inputSchema: anything, execute: () => "seen" } };
    const script = [{ text: "Let me look that up.", calls: [{ name: "look" }] }, "It rains."];
    const server = await on.start({ tools, script });
    const request = await on.end(server.ask("How?"));
    await on.end(request.result);
    const completed = (await eventsOf(request)).filter(({ kind }) => kind === "llm_completed");
    const answers = (await on.log()).filter(({ payload }) => payload["role"] === "assistant");
    expect(completed).toMatchObject(answers.map(({ id: entryId }) => ({ data: { entryId } })));
    expect(completed).toHaveLength(2);
    await on.end(server.cutAnswer({ entryId: answers[0]?.id, spoken: "Let me" }));
    expect(await cuts(on)).toMatchObject([{ payload: { cut: { seq: 1, characters: 6 } } }]);
    const logged = new LoggedRequest(request, () => server.thread());
    const again = (await eventsOf(logged)).filter(({ kind }) => kind === "llm_completed");
    expect(again).toMatchObject(answers.map(({ id: entryId }) => ({ data: { entryId } })));
  });

  test("cuts an answer that was cancelled while it was streamed, and the page shows that", async () => {
    const on = await stage({ store: open() });
    const server = await on.start({
      script: [{ text: "It rains in", hang: true }, sees("How?", "It", "Stop.")] as never,
    });
    const request = await on.end(server.ask("How?"));
    for await (const _text of request.textStream) break;
    await on.end(server.cancel());
    await on.end(server.cutAnswer({ requestId: request.id, spoken: "It" }));
    const [, message] = toUIMessages(await server.thread());
    expect(message).toMatchObject({
      parts: [{ type: "step-start" }, { text: "It" }],
      metadata: { heddle: { status: "cancelled", cut: true } },
    });
    await run(on, server, "Stop.");
    await proveAll(on.store, on.threadId);
  });

  test("holds in a branch that shows the answer, and not in the lane that it left", async () => {
    const on = await stage({ store: open() });
    const server = await on.start({ script: ["It rains.", sees("How?", "It", "B."), sees("How?", "It rains.", "A.")] });
    await run(on, server, "How?", "r1");
    const [, answer] = await on.log();
    const { lane } = await on.end(server.branch({ at: answer?.id ?? "", lane: "other" }));
    await on.end(server.cutAnswer({ requestId: "r1", characters: 2 }));
    expect((await cuts(on))[0]?.payload).toMatchObject({ contextRef: lane });
    await run(on, server, "B.");
    const back = { type: "switch", reason: "manual" } as const;
    await on.end(server.modifyContext({ contextRef: "default", operation: back }));
    await run(on, server, "A.");
    await proveAll(on.store, on.threadId);
  });

  test("is explained, counted as it is shown, and left alone by projector heddle/1", async () => {
    const on = await stage({ store: open() });
    const agent = defineAgent({ model: scriptedModel([`It rains. ${"And so on. ".repeat(50)}`]) });
    const host = AgentHost.create({ agent, store: on.store, ports: on.ports });
    const { result, id } = await on.end(host.ask(on.threadId, "How?"));
    await on.end(result);
    const before = (await host.view(on.threadId)).estimatedTokens;
    await on.end(host.cutAnswer(on.threadId, { requestId: id, spoken: "It rains." }));
    expect((await host.view(on.threadId)).estimatedTokens).toBeLessThan(before - 50);
    const thread = await on.end(host.thread(on.threadId));
    const { messages } = project({ thread, policy: {} });
    expect(messages.at(-1)?.content).toBe("It rains.");
    const rows = createProjector().explain({ thread, policy: {} });
    expect(rows.map(({ status, rule }) => [status, rule])).toEqual([
      ["shown", "in_window"],
      ["shown", "answer_cut"],
      ["not_projectable", "kind_not_included"],
    ]);
    const first = project({ thread, policy: {}, rules: "heddle/1" } as never);
    expect(first.messages.at(-1)?.content).toContain("And so on.");
    await on.end(host.stop());
  });

  test("refuses what it cannot cut, and nothing is written", async () => {
    const on = await stage({ store: open() });
    const server = await on.start({ script: ["It rains."] });
    await run(on, server, "How?", "r1");
    const [ask] = await on.log();
    const rev = (await on.log()).length;
    const refused = async (options: object) => (await failureOf(on.end(server.cutAnswer(options as never)))).code;
    expect(await refused({ requestId: "r2", characters: 1 })).toBe("answer_unknown");
    expect(await refused({ entryId: "nothing", characters: 1 })).toBe("answer_unknown");
    expect(await refused({ entryId: ask?.id, characters: 1 })).toBe("answer_unknown");
    for (const characters of [-1, 10, 1.5, "1"])
      expect(await refused({ requestId: "r1", characters })).toBe("cut_invalid");
    expect(await refused({ requestId: "r1", spoken: "It snows" })).toBe("cut_invalid");
    expect(await refused({ requestId: "r1" })).toBe("cut_invalid");
    expect(await refused({ characters: 1 })).toBe("cut_invalid");
    expect(await refused({ requestId: "r1", entryId: "e", characters: 1 })).toBe("cut_invalid");
    for (const source of [1, ""])
      expect(await refused({ requestId: "r1", characters: 1, source })).toBe("invalid_options");
    await expect(on.end(server.cutAnswer({ requestId: "r1", character: 1 } as never))).rejects.toThrow(/character/);
    expect(await on.log()).toHaveLength(rev);
  });
});
