import {
  AgentHost,
  type AnyTool,
  defineTool,
  jsonSchema,
  memoryStore,
  StoreError,
  suspend,
  type ThreadStore,
  type ToolOptions,
} from "heddle";
import { chatTurn, toUIMessages, type UIMessageLike, uiMessageStream } from "heddle/ai-sdk";
import { sqliteStore } from "heddle/sqlite";
import { scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { fastFile } from "../../support/temp-folder.ts";
import { defineAgent } from "../support/recovery-tools.ts";
import { spied } from "../support/spied-store.ts";
import { anything, eventsOf, expectWhole, failureOf, proveAll, type Stage, stage, told } from "../support/stage.ts";

const QUESTION = { ask: "Which seat?", free: ["1A", "2B"] };

/** A tool that asks for a seat, then for a meal, and notes how it was called. */
function booking(seen: unknown[] = []): AnyTool {
  return defineTool({
    inputSchema: anything,
    repeatable: true,
    answerSchema: jsonSchema<string>(
      { type: "string" },
      {
        validate: (value) =>
          typeof value === "string"
            ? { success: true, value: value.toUpperCase() }
            : { success: false, error: new Error("no text") },
      },
    ),
    execute: (_, { answer, question, idempotencyKey }: ToolOptions<unknown, string>) => {
      seen.push([answer, idempotencyKey]);
      if (answer === undefined) return suspend(QUESTION);
      if (JSON.stringify(question) === JSON.stringify(QUESTION)) return suspend({ ask: "Which meal?", seat: answer });
      return `${(question as { seat: string }).seat} with ${answer}`;
    },
  }) as AnyTool;
}

const CALL = { calls: [{ id: "call_b", name: "book" }] };
const stores: readonly (readonly [string, () => ThreadStore])[] = [
  ["memory", () => memoryStore()],
  ["SQLite", () => sqliteStore(fastFile())],
];
const results = async (on: Stage) =>
  (await on.log()).flatMap(({ payload }) => (payload["role"] === "tool" ? [payload["content"]] : []));

test.each([
  ["jsonSchema()", jsonSchema<string>({ type: "string" })],
  ["a plain JSON Schema", { type: "string" }],
])("an answer is checked by %s that has no function to validate", async (_, answerSchema) => {
  const on = await stage();
  const answers: unknown[] = [];
  const book = {
    ...booking(),
    answerSchema,
    execute: (_: unknown, { answer }: ToolOptions<unknown, string>) =>
      answer === undefined ? suspend(QUESTION) : answers.push(answer),
  } as AnyTool;
  const server = await on.start({ script: [CALL, "Done."], tools: { book } });
  const request = await on.end(server.ask("A seat."));
  await on.end(request.settled());
  const wrong = await on.end(failureOf(server.answer("call_b", { evil: [1] })));
  expect([wrong.code, wrong.message]).toEqual(["invalid_answer", expect.stringContaining("must be string")]);
  await on.end(server.answer("call_b", "1A"));
  await on.end(request.result);
  expect(answers).toEqual(["1A"]);
});

describe.each(stores)("a tool that suspends its call with a question, with %s", (_, open) => {
  test("waits in the log for days, is answered in another process, and may ask again", async () => {
    const on = await stage({ store: open() });
    const seen: unknown[] = [];
    const first = await on.start({ script: [CALL], tools: { book: booking(seen) } });
    const request = await on.end(first.ask("A seat."));
    expect(await on.end(request.settled())).toBe("waiting");
    const waiting = { toolCallId: "call_b", name: "book", arguments: {}, kind: "answer" };
    expect(await first.waiting()).toEqual([{ ...waiting, question: QUESTION }]);
    expect((await eventsOf(request, { until: "waiting" })).at(-1)).toMatchObject({
      kind: "answer_requested",
      data: { question: { value: QUESTION, count: 1 } },
    });
    await on.end(first.stop());
    await on.pass(3 * 86_400_000);

    const second = await on.start({ script: ["Booked."], tools: { book: booking(seen) } });
    expect(await second.waiting()).toEqual([{ ...waiting, question: QUESTION }]);
    const wrong = await failureOf(second.answer("call_b", 7));
    expect([wrong.code, wrong.message]).toEqual(["invalid_answer", expect.stringContaining("no text")]);
    expect(await second.waiting()).toHaveLength(1);
    await on.end(second.answer("call_b", "1a", { source: "page" }));
    await on.settled();
    expect(await second.waiting()).toEqual([{ ...waiting, question: { ask: "Which meal?", seat: "1A" } }]);
    await on.end(second.answer("call_b", "soup"));
    expect((await on.end(second.result(request.id))).text).toBe("Booked.");
    expect(seen.map((call) => (call as unknown[])[0])).toEqual([undefined, "1A", "SOUP"]);
    expect(new Set(seen.map((call) => (call as unknown[])[1])).size).toBe(1);
    expect(await results(on)).toEqual(["1A with SOUP"]);
    const { request: resumed } = second;
    if (resumed !== undefined) {
      const events = await eventsOf(resumed);
      expectWhole(events, events[0]?.seq);
      const asked = events.filter(({ kind }) => kind === "answer_requested");
      expect(new Set(asked.map(({ id }) => id)).size).toBe(2); // each question has an id of its own
    }
    const answered = (await on.log()).find(({ kind }) => kind === "question_answered");
    expect([answered?.payload, answered?.refs["source"]]).toMatchObject([{ answer: "1A", started: true }, "page"]);
    expect((await failureOf(second.answer("call_b", "x"))).code).toBe("not_waiting");
    expect(await proveAll(on.store, on.threadId)).toBe(2);
  });

  test("continues after a kill at any commit, and has one result", async () => {
    for (let commit = 1; ; commit++) {
      const on = await stage({ store: open() });
      let commits = 0;
      let isDead = false;
      const spy = spied(on.store);
      const error = () =>
        new StoreError({ code: "store_unavailable", message: "The process is dead.", retryable: true });
      spy.trouble = (write, _number, entries) => {
        if (!isDead && write === "append" && entries.length > 0) commits += 1;
        const dies = !isDead && commits === commit;
        const trouble = isDead ? { error } : dies ? { error, after: true } : undefined;
        if (dies) isDead = true;
        return trouble;
      };
      const script = [CALL, "Booked."];
      const first = await on.start({ script, tools: { book: booking() } }, { store: spy.store, holder: "the same" });
      const story = async (): Promise<void> => {
        const request = await first.ask("A seat.", { requestId: "r" });
        for (const answer of ["1a", "soup"]) {
          await request.settled();
          await first.answer("call_b", answer);
          await on.settled();
        }
        await request.result;
      };
      void story().catch(() => undefined);
      for (let turn = 0; turn < 12; turn++) await on.settled();
      if (!isDead) break;
      const answered = (await on.log()).filter(({ kind }) => kind === "question_answered").length;
      const said = (await on.log()).some(({ payload }) => payload["toolCalls"] !== undefined);
      const rest = { script: said ? ["Booked."] : script, tools: { book: booking() } };
      const second = await on.start(rest, { holder: "the same" });
      for (let answers = answered; answers < 2; ) {
        await on.settled();
        if ((await second.waiting()).length === 0) break;
        await on.end(second.answer("call_b", ["1a", "soup"][answers++]));
      }
      expect((await on.end(second.result("r"))).text).toBe("Booked.");
      expect(await results(on)).toEqual(["1A with SOUP"]);
      expect((await on.log()).filter(({ kind }) => kind === "question_asked")).toHaveLength(2);
      expect(told(await on.log()).at(-1)).toContain("end:completed");
    }
  });

  test("is not run again after a kill if it is not repeatable, once it was resumed", async () => {
    const on = await stage({ store: open() });
    const hung = {
      inputSchema: anything,
      execute: (_: object, { answer }: ToolOptions) => (answer ? new Promise(() => undefined) : suspend("?")),
    };
    const first = await on.start({ script: [CALL], tools: { book: hung } });
    const { id } = await on.end(first.ask("A seat."));
    await on.settled();
    await on.end(first.answer("call_b", "1A"));
    await on.settled();
    await on.end(first.stop({ graceMs: 0 }));
    const second = await on.start({ script: ["Unknown."], tools: { book: { ...booking(), repeatable: false } } });
    expect((await on.end(second.result(id))).text).toBe("Unknown.");
    expect(await results(on)).toEqual([expect.stringContaining("its outcome is unknown")]);
  });

  test("is answered by a process that does not hold the thread, with the same check", async () => {
    const on = await stage({ store: open() });
    const book = booking();
    const first = await on.start({ script: [CALL, "Booked."], tools: { book } });
    const request = await on.end(first.ask("A seat."));
    await on.end(request.settled());
    const agent = defineAgent({ model: scriptedModel([]), tools: { book } });
    const host = AgentHost.create({ agent, store: on.store, ports: on.ports, holder: "other" });
    const [waiting] = await on.end(host.waiting(on.threadId));
    expect(waiting).toMatchObject({ toolCallId: "call_b", question: QUESTION });
    expect((await on.end(failureOf(host.answer(on.threadId, "call_b", 7)))).code).toBe("invalid_answer");
    await on.end(host.answer(on.threadId, "call_b", "1a"));
    for (let turn = 0; turn < 5; turn++) await on.pass(1_000);
    expect(await first.waiting()).toMatchObject([{ question: { seat: "1A" } }]);
    await on.end(first.answer("call_b", "soup"));
    expect((await on.end(request.result)).text).toBe("Booked.");
    await on.end(host.stop());
  });

  const failing: readonly (readonly [string, () => unknown])[] = [
    [
      "throws",
      () => {
        throw new Error("broke");
      },
    ],
    ["never answers", () => new Promise(() => undefined)],
  ];
  test.each(failing)("waits on when its answerSchema %s", async (_, validate) => {
    const on = await stage({ store: open() });
    const answerSchema = jsonSchema({ type: "string" }, { validate: validate as never });
    const tools = { book: { ...booking(), answerSchema } };
    const server = await on.start({ script: [CALL], tools, hookTimeoutMs: 50 });
    await on.end((await on.end(server.ask("A seat."))).settled());
    expect((await on.end(failureOf(server.answer("call_b", "1a")))).code).toBe("invalid_answer");
    expect(await server.waiting()).toHaveLength(1);
  });

  test.each(["cancel", "finish"] as const)("has a result after %s", async (how) => {
    const on = await stage({ store: open() });
    const server = await on.start({ script: [CALL, "Next."], tools: { book: booking() } });
    const request = await on.end(server.ask("A seat."));
    await on.end(request.settled());
    await on.end(server[how]());
    await on.end(request.result.catch(() => undefined));
    const [result] = await results(on);
    expect(result).toContain(how === "cancel" ? "waited for an answer" : "its outcome is unknown");
    expect((await on.end((await on.end(server.ask("Go on."))).result)).text).toBe("Next.");
  });
});

test("the page shows the question, and its answer is the output of the call", async () => {
  const on = await stage();
  const server = await on.start({ script: [CALL, "Booked."], tools: { book: booking() } });
  const request = await on.end(server.ask("A seat."));
  await on.end(request.settled());
  const chunks: unknown[] = [];
  for await (const chunk of uiMessageStream(request)) chunks.push(chunk);
  const part = toUIMessages(await server.thread())
    .at(-1)
    ?.parts.find(({ type }) => type === "data-question");
  expect(part).toMatchObject({ data: { toolCallId: "call_b", toolName: "book", question: QUESTION } });
  expect(chunks).toContainEqual(part);
});

test("chatTurn takes the output that a page gives to a suspended call as the answer", async () => {
  const agent = defineAgent({ model: scriptedModel([CALL, "Booked."]), tools: { book: booking() } });
  const host = AgentHost.create({ agent, store: memoryStore() });
  const messages: UIMessageLike[] = [{ role: "user", parts: [{ type: "text", text: "A seat." } as { type: string }] }];
  let turn = await chatTurn(host, "thread_c", messages);
  for (const output of ["1a", "soup"]) {
    await turn.request.settled();
    const last = toUIMessages(await turn.thread()).at(-1);
    const parts = last?.parts.map((part) =>
      part.type === "tool-book" ? { ...part, state: "output-available", output } : part,
    );
    turn = await chatTurn(host, "thread_c", [...messages, { role: "assistant", parts: parts ?? [] }]);
  }
  expect((await turn.request.result).text).toBe("Booked.");
  await host.stop();
});
