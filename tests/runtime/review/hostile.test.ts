import { AgentHost, defineAgent, StoreError } from "heddle";
import { scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { noTelemetry } from "../../../src/runtime/telemetry/telemetry.ts";
import { spied } from "../support/spied-store.ts";
import { anything, eventsOf, expectWhole, failureOf, stage, told } from "../support/stage.ts";

const fire = () => new StoreError({ code: "store_failed", message: "The disk is on fire." });
const never = () => new Promise<never>(() => undefined);
const ended = <Value>(promise: Promise<Value>): Promise<Value | "rejected"> => promise.catch(() => "rejected" as const);

/** A server whose request has failed because an answer could not be written. */
async function afterFire(script: readonly unknown[], config: object = {}) {
  let trouble = false;
  const on = await stage({
    around: (store) => {
      const spy = spied(store);
      spy.trouble = (write) => (trouble && write === "append" ? { error: fire } : undefined);
      return spy.store;
    },
  });
  const server = await on.start({ script: [{ text: "lost", delayMs: 10 }, ...script] as never, ...config });
  const request = await on.end(server.ask("First."));
  trouble = true;
  expect((await failureOf(on.end(request.result))).failure?.code).toBe("store_failed");
  trouble = false;
  return { on, server, request };
}

describe("after the store has failed", () => {
  test("the next ask has the tools that it was lent, and its prompt", async () => {
    const seen: unknown[] = [];
    const looking = ({ system }: { system: string }) => {
      seen.push(system);
      return { calls: [{ name: "look" }] };
    };
    const { on, server } = await afterFire([looking, "Seen."], { systemPrompt: () => "Be brief." });
    let ran = 0;
    const look = { inputSchema: anything, execute: () => `seen ${++ran}` };
    const request = await on.end(server.ask("Look.", { tools: { look } }));
    expect((await on.end(request.result)).text).toBe("Seen.");
    expect({ ran, system: seen[0] }).toEqual({ ran: 1, system: "Be brief." });
  });

  test("words for the request that has failed are refused", async () => {
    const { on, server } = await afterFire([]);
    const { accepted, reason, receipt } = await on.end(server.steer("Hello?"));
    expect({ accepted, reason }).toEqual({ accepted: false, reason: "idle" });
    expect(await receipt).toMatchObject({ delivered: false, reason: "idle" });
  });

  test("a server that stops closes the request in the log, so that a request reported as failed is not resumed", async () => {
    const { on, server } = await afterFire([]);
    await on.end(server.stop());
    expect(told(await on.log())).toEqual(["ask First.", "error end:failed"]);
    const again = await on.start({ script: ["unwanted"] });
    expect(again.request).toBeUndefined();
  });
});

describe("callbacks that do what they like", () => {
  test("a prompt function that never returns does not prevent a cancel or a stop", async () => {
    const on = await stage();
    const server = await on.start({ script: ["Hi."], systemPrompt: never as never });
    const abort = new AbortController();
    const asked = ended(server.ask("Hello.", { signal: abort.signal }));
    await on.settled();
    abort.abort();
    expect(await on.end(asked)).toBe("rejected");
    const other = ended(server.ask("Hello."));
    await on.settled();
    await on.end(server.stop());
    expect(await on.end(other)).toBe("rejected");
    expect(await on.log()).toEqual([]);
  });

  test("a warning that throws changes nothing", async () => {
    const on = await stage();
    const warn = () => {
      throw new Error("no console");
    };
    let prompt = 0;
    const server = await on.start({ script: ["One.", "Two."], systemPrompt: () => `Prompt ${++prompt}.` }, { warn });
    for (const text of ["One.", "Two."]) {
      const request = await on.end(server.ask("Go."));
      expect((await on.end(request.result)).text).toBe(text);
    }
  });

  test("telemetry that throws changes nothing", async () => {
    const on = await stage();
    const bad = () => {
      throw new Error("no collector");
    };
    for (const telemetry of [
      { request: bad, model: bad, tool: bad, summary: bad },
      { ...noTelemetry, request: () => ({ event: bad, suspended: bad }) },
    ]) {
      const server = await on.start({ script: ["Hi."] }, { telemetry });
      const request = await on.end(server.ask("Go."));
      expect((await on.end(request.result)).text).toBe("Hi.");
      await on.end(server.stop());
    }
  });

  test.each([
    ["a promise of true", async () => true],
    ["true", () => true],
    ["null", () => null],
  ])("accept that answers %s is told what it has to answer", async (_what, accept) => {
    const on = await stage();
    const server = await on.start({ script: ["Hi."], accept: accept as never });
    const error = await server.ask("Go.").catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "not_accepted" });
    expect((error as Error).message).toMatch(/accept .*(text|undefined)/);
  });

  test.each([
    [
      "throws",
      () => {
        throw new Error("no prices");
      },
    ],
    ["is no number", () => Number.NaN],
  ])(
    "costs that cannot be told (%s) end the request where it may spend no more, with its answer",
    async (_what, costUsd) => {
      const on = await stage();
      const look = { inputSchema: anything, execute: () => "seen" };
      const server = await on.start({
        script: [{ text: "Looking.", calls: [{ name: "look" }] }, "Seen."],
        tools: { look },
        limits: { maxCostUsd: 1, costUsd: costUsd as never },
      });
      const request = await on.end(server.ask("Look."));
      const result = await on.end(request.result);
      expect({ reason: result.terminationReason, text: result.text }).toEqual({ reason: "limit", text: "Looking." });
      expect(on.warnings.join()).toMatch(/costUsd/);
    },
  );

  test.each([
    ["with a guard", true],
    ["of a client tool", false],
  ])("a schema %s that never checks can be cancelled", async (_what, guard) => {
    const on = await stage();
    const inputSchema = {
      "~standard": {
        version: 1,
        vendor: "x",
        validate: never,
        jsonSchema: { input: () => ({ type: "object" }), output: () => ({}) },
      },
    };
    const tool = guard ? { inputSchema, execute: () => "x" } : { inputSchema };
    const server = await on.start({
      script: [{ calls: [{ name: "t" }] }, "Done."],
      tools: { t: tool } as never,
      ...(guard && { guardTools: () => "allow" as const }),
    });
    const request = await on.end(server.ask("Go."));
    await on.settled();
    const cancelled = server.cancel();
    expect(await on.end(cancelled)).toBe(true);
    expect(request.state).toBe("done");
  });
});

describe("words that no log can hold", () => {
  test.each([
    ["no content", 5],
    ["no parts", [{ type: "text", text: Number.NaN }]],
    [
      "a file that is none",
      [
        { type: "text", text: "Look:" },
        { type: "file", mediaType: "image/png", data: 5 },
      ],
    ],
  ])("a steer of %s is refused, and the request continues", async (_what, content) => {
    const on = await stage();
    const server = await on.start({ script: [{ text: "Hi.", delayMs: 50 }, "More."] });
    const request = await on.end(server.ask("Go."));
    await expect(server.steer(content as never)).rejects.toMatchObject({ code: expect.any(String) });
    expect((await on.end(request.result)).text).toBe("Hi.");
  });

  test("a steer has its content at the time of the command", async () => {
    const on = await stage();
    const server = await on.start({ script: [{ text: "Hi.", delayMs: 50 }, "More."] });
    const request = await on.end(server.ask("Go."));
    const parts = [{ type: "text" as const, text: "Quick" }];
    const steered = server.steer(parts);
    (parts[0] as { text: string }).text = "Slow";
    await on.end(steered);
    await on.end(request.result);
    expect(told(await on.log())).toContain("steer Quick");
  });

  test("an id of a steer that no log can hold is refused", async () => {
    const on = await stage();
    const server = await on.start({ script: [{ text: "Hi.", delayMs: 50 }, "More."] });
    const request = await on.end(server.ask("Go."));
    await expect(server.steer("a", { id: "\ud83d" })).rejects.toMatchObject({ code: expect.any(String) });
    expect((await on.end(request.result)).text).toBe("Hi.");
  });

  test("a reason to cancel of any type becomes text", async () => {
    const on = await stage();
    const server = await on.start({ script: [{ text: "Hi.", hang: true }] });
    const request = await on.end(server.ask("Go."));
    await on.end(server.cancel(request.id, "no \ud83d"));
    expect((await failureOf(request.result)).code).toBe("request_cancelled");
  });

  test("an answer of the wrong shape with half an emoji in its key is sent back", async () => {
    const on = await stage();
    const output = {
      "~standard": {
        version: 1,
        vendor: "x",
        validate: (v: { ok?: boolean }) =>
          v.ok ? { value: v } : { issues: [{ message: "bad \ud83d", path: ["\ud83d"] }] },
        jsonSchema: { input: () => ({ type: "object" }), output: () => ({}) },
      },
    };
    const server = await on.start({ script: ['{"a":"\\ud83d"}', '{"ok":true}'], output: output as never });
    const request = await on.end(server.ask("Go."));
    expect((await on.end(request.result)).object).toEqual({ ok: true });
  });

  test("usage that is not a number is left out, and __proto__ in arguments changes no prototype", async () => {
    const on = await stage();
    const given: unknown[] = [];
    const look = { inputSchema: anything, execute: (input: unknown) => String(given.push(input)) };
    const usage = { inputTokens: { total: Number.NaN }, outputTokens: { total: Number.POSITIVE_INFINITY } };
    const call = { type: "tool-call", toolCallId: "c", toolName: "look", input: '{"__proto__":{"admin":true},"a":1}' };
    const answers = [[call], [{ type: "text", text: "Seen." }]];
    const model = {
      specificationVersion: "v4",
      provider: "odd",
      modelId: "odd",
      supportedUrls: {},
      doStream: async () => ({}),
      doGenerate: async () => ({ content: answers.shift(), finishReason: { unified: "stop" }, usage, warnings: [] }),
    };
    const server = await on.start({ model: model as never, streaming: false, tools: { look } });
    const request = await on.end(server.ask("Go."));
    expect((await on.end(request.result)).text).toBe("Seen.");
    expect((given[0] as { admin?: boolean } | undefined)?.admin).toBeUndefined();
    expectWhole(await eventsOf(request));
  });

  test("half of an emoji in what people say is replaced, wherever they say it", async () => {
    const on = await stage();
    const pay = { inputSchema: anything, needsApproval: true, execute: () => "paid" };
    const server = await on.start({ script: [{ calls: [{ name: "pay" }] }, "Paid."], tools: { pay } });
    const request = await on.end(server.ask([{ type: "text", text: "Pay \ud83d." }]));
    await on.settled();
    const answers = [
      server.steer("Now \ud83d."),
      server.inject("Seen \ud83d.", { source: "watch \ud83d" }),
      server.followUp("Then \ud83d."),
    ];
    expect((await on.end(Promise.all(answers))).map(({ accepted }) => accepted)).toEqual([true, true, true]);
    await on.end(server.approve("call_1", { by: "Ada \ud83d", reason: "Fine \ud83d" }));
    await on.end(request.result).catch(() => undefined);
    const text = JSON.stringify(await on.log());
    for (const words of ["Pay", "Now", "Seen", "watch", "Ada", "Fine"]) expect(text).toContain(`${words} \ufffd`);
    await expect(on.store.append(on.threadId, { payload: { text: "half \ud83d" } })).rejects.toMatchObject({
      code: "not_json",
      path: "entry.payload.text",
    });
  });

  test("an answer that can not be converted is refused, and the call waits on", async () => {
    const on = await stage();
    const server = await on.start({
      script: [{ calls: [{ name: "pick" }] }, "Picked."],
      tools: { pick: { inputSchema: anything } },
    });
    const request = await on.end(server.ask("Pick."));
    await on.settled();
    const circular: { self?: unknown } = {};
    circular.self = circular;
    await expect(on.end(server.answer("call_1", circular))).rejects.toMatchObject({ code: "not_json" });
    expect(request.state).toBe("waiting");
    await on.end(server.answer("call_1", "half \ud83d"));
    expect((await on.end(request.result)).text).toBe("Picked.");
  });

  test("an ask whose signal is none is refused whole: it is not put with the next one", async () => {
    const on = await stage();
    const server = await on.start({ script: ["Hi.", "Unwanted."] });
    await expect(server.ask("First.", { signal: {} as AbortSignal })).rejects.toThrow();
    const request = await on.end(server.ask("Second."));
    await on.end(request.result);
    await on.pass(100);
    expect(told(await on.log())).toEqual(["ask Second.", "says Hi. end:completed"]);
  });
});

test("a host that is given no thread id says so, instead of sharing one thread among all who give none", async () => {
  const on = await stage();
  const agent = defineAgent({ model: scriptedModel(["Hi.", "Hi."]) });
  const host = AgentHost.create({ agent, store: on.store, ports: on.ports });
  for (const id of [undefined, null, 5, ""]) {
    await expect(host.ask(id as never, "Hello.")).rejects.toMatchObject({ code: "invalid_id" });
  }
  await host.stop();
});

test("the context of a request that a crash has interrupted may take time to find", async () => {
  const on = await stage();
  const seen: unknown[] = [];
  const look = {
    inputSchema: anything,
    needsApproval: true,
    execute: (_: unknown, { context }: { context: unknown }) => String(seen.push(context)),
  };
  const script = [{ calls: [{ name: "look" }] }, "Seen."];
  const first = await on.start({ script: script.slice(0, 1), tools: { look } as never });
  await on.end(first.ask("Look.", { refs: { user: "Ann" } }));
  await on.settled();
  await on.end(first.stop());
  const context = async (_threadId: string, { user }: { user?: unknown }) => ({ user });
  const second = await on.start({ script: script.slice(1), tools: { look } as never }, { context: context as never });
  await on.end(second.approve("call_1"));
  if (second.request !== undefined) await on.end(second.request.result);
  expect(seen).toEqual([{ user: "Ann" }]);
});
