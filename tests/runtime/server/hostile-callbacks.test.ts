import { existsSync, readFileSync } from "node:fs";
import { INVALID_SPAN_CONTEXT, trace } from "@opentelemetry/api";
import {
  type AgentRequest,
  createProjector,
  HeddleError,
  jsonSchema,
  openTelemetry,
  type RuntimeTelemetry as Telemetry,
  type ToolOptions,
} from "heddle";
import { uiMessageStream } from "heddle/ai-sdk";
import { type ScriptedStep, scriptedModel } from "heddle/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { noTelemetry } from "../../../src/runtime/telemetry/telemetry.ts";
import { runTool } from "../../../src/runtime/tools/run-tool.ts";
import type { CallbackName } from "../support/callback-names.ts";
import { anything, expectWhole, type Stage, stage } from "../support/stage.ts";

/** When a callback misbehaves: up to the first tool result, after it, once a summary has begun, or in the next process. */
const STEPS = ["first", "tool", "summary", "resume"] as const;
type Step = (typeof STEPS)[number];

/** Calls the real callback, or misbehaves in its place. */
type Hit = <Value>(real: () => Value) => Value;

interface Row {
  /** The steps at which it is called. Default: all. */
  readonly steps?: readonly Step[];
  readonly config?: (hit: Hit, model: () => unknown) => object;
  /** Options of the ask. */
  readonly asks?: object;
  readonly options?: (hit: Hit) => object | Promise<object>;
  /** Reads the request beside the test. */
  readonly watch?: (request: AgentRequest, hit: Hit) => Promise<unknown>;
  /** The tool `act`. */
  readonly tool?: (hit: Hit) => object;
  /** A tool of the thread, whose code has to be found. */
  readonly registers?: true;
  /** The message of what it throws is a result by contract. */
  readonly isQuoted?: true;
  /** It is pure by contract, so that its failure is remembered as long as the server runs. */
  readonly isPure?: true;
}

/** A callback that another file tests by its name. */
type Elsewhere = string;

const EXACT = { contextPolicy: { tokenEstimator: "exact" } };
const project = (hit: Hit) => {
  const real = createProjector();
  const explain: typeof real.explain = (input) => hit(() => real.explain(input));
  return { projector: { project: (input: never) => hit(() => real.project(input)), explain } };
};
const prompt: Row = {
  steps: ["first", "resume"],
  config: (hit) => ({ systemPrompt: () => hit(() => "Be brief.") }),
};
const spans = (name: keyof Telemetry, steps: readonly Step[] = STEPS): Row => ({
  steps,
  options: (hit) => {
    const start = (...input: never[]) => Reflect.apply(noTelemetry[name] ?? (() => undefined), noTelemetry, input);
    return { telemetry: { ...noTelemetry, [name]: (...input: never[]) => hit(() => start(...input)) } };
  },
});
const drain = async (values: AsyncIterable<unknown>): Promise<void> => {
  for await (const _value of values);
};
const ui = (option: string, real: unknown, more: object = {}): Row => ({
  ...more,
  steps: ["tool", "summary"],
  watch: (request, hit) => drain(uiMessageStream(request, { [option]: () => hit(() => real) } as object)),
});
const ROWS: { readonly [Name in CallbackName | "model" | "events" | "textStream"]: Row | Elsewhere } = {
  accept: { steps: ["first"], config: (hit) => ({ accept: () => hit(() => undefined) }) },
  systemPrompt: prompt,
  instructions: prompt, // the same function under another name
  transformRequest: { config: (hit) => ({ transformRequest: () => hit(() => ({})) }) },
  guardTools: { config: (hit) => ({ guardTools: () => hit(() => "allow") }) },
  afterToolCall: {
    steps: ["tool", "summary", "resume"],
    config: (hit) => ({ afterToolCall: () => hit(() => undefined) }),
  },
  stopWhen: {
    steps: ["tool", "summary", "resume"],
    config: (hit) => ({ stopWhen: [() => false, () => hit(() => false)] }),
  },
  "limits.costUsd": {
    steps: ["tool", "summary", "resume"],
    config: (hit) => ({ limits: { maxCostUsd: 9, costUsd: () => hit(() => 0) } }),
  },
  output: {
    steps: ["tool", "summary", "resume"],
    config: (hit) => {
      const validate = (value: unknown) => hit(() => ({ success: true, value }));
      return { output: jsonSchema({ type: "object" }, { validate: validate as never }) };
    },
  },
  model: { steps: ["first", "resume"], config: (hit, model) => ({ model: () => hit(model) }) },
  resolveModel: {
    steps: ["first", "resume"],
    config: (hit, model) => ({ model: "own:model", resolveModel: () => hit(model) }),
  },
  headers: {
    steps: ["resume"],
    asks: { headers: { "x-key": "1" } },
    options: (hit) => ({ headers: () => hit(() => ({ "x-key": "1" })) }),
  },
  onNeedsSummary: "tests/runtime/server/requested-summaries.store.test.ts",
  prepareCall: { steps: ["first"], config: (hit) => ({ prepareCall: () => hit(() => ({})) }) },
  prepareStep: "tests/runtime/server/prepare-step.store.test.ts",
  repairToolCall: "tests/runtime/server/prepare-step.store.test.ts",
  experimental_repairToolCall: "tests/runtime/server/prepare-step.store.test.ts",
  onRequestEnd: {
    steps: ["tool", "summary", "resume"],
    config: (hit) => ({ onRequestEnd: () => hit(() => undefined) }),
  },
  resolveTool: {
    steps: ["first", "resume"],
    registers: true,
    config: (hit) => ({ resolveTool: () => hit(() => undefined) }),
  },
  download: "tests/runtime/server/silent-hooks.test.ts",
  "projector.project": { config: project },
  "projector.explain": "tests/runtime/host/reads.test.ts",
  "tokenCounter.count": {
    config: (hit) => ({
      ...EXACT,
      tokenCounter: { id: "own", version: "1", count: (text: string) => hit(() => text.length), perMessage: 3 },
    }),
  },
  "reader.read": {
    steps: ["first", "resume"], // it is called once for an entry
    isPure: true,
    config: (hit) => ({
      ...READS,
      readers: { weather: { version: 2, read: () => hit(() => ({ type: "user", content: "Sun." })) } },
    }),
  },
  "reader.upcast": {
    steps: ["first", "resume"],
    isPure: true,
    config: (hit) => {
      const read = () => ({ type: "user", content: "Sun." });
      return { ...READS, readers: { weather: { version: 2, upcast: () => hit(() => ({})), read } } };
    },
  },
  "summarizer.summarize": {
    steps: ["summary"],
    config: (hit) => ({ summarizer: { summarize: async () => hit(() => "Old.") } }),
  },
  context: { steps: ["resume"], options: (hit) => ({ context: () => hit(() => ({})) }) },
  tools: { steps: ["resume"], options: (hit) => ({ tools: () => hit(() => ({})) }) },
  onError: {
    tool: () => ({ execute: () => Promise.reject(new Error("no")) }),
    steps: ["tool", "summary", "resume"],
    options: (hit) => ({ onError: () => hit(() => undefined) }),
  },
  warn: {
    steps: ["tool"],
    config: () => ({ limits: { maxCostUsd: 9, costUsd: () => "much" } }),
    options: (hit) => ({ warn: () => hit(() => undefined) }),
  },
  "tool.execute": { isQuoted: true, tool: (hit) => ({ execute: () => hit(() => "did") }) },
  "tool.answerSchema": "tests/runtime/server/suspended-tools.store.test.ts",
  "tool.answerSchema.validate": "tests/runtime/server/suspended-tools.store.test.ts",
  "tool.exclusive": { tool: (hit) => ({ exclusive: () => hit(() => "one") }) },
  "tool.needsApproval": { tool: (hit) => ({ needsApproval: () => hit(() => false) }) },
  "tool.toModelOutput": {
    steps: ["tool", "summary", "resume"],
    tool: (hit) => ({ toModelOutput: () => hit(() => ({ type: "text", value: "did" })) }),
  },
  "tool.inputSchema": {
    tool: (hit) => {
      const validate = (value: unknown) => hit(() => ({ success: true, value }));
      return { inputSchema: jsonSchema({ type: "object" }, { validate: validate as never }) };
    },
    isQuoted: true,
  },
  "telemetry.ask": spans("ask", ["first"]),
  "telemetry.traceparent": spans("traceparent", ["first"]),
  "telemetry.request": spans("request", ["first", "resume"]),
  "telemetry.model": spans("model"),
  "telemetry.tool": spans("tool"),
  "bus.publish": "tests/runtime/host/live-events.store.test.ts",
  "bus.subscribe": "tests/runtime/host/live-events.store.test.ts",
  "agentTool.prompt": "tests/runtime/host/children.test.ts",
  "telemetry.summary": "tests/runtime/telemetry/harmless.test.ts",
  "openTelemetry.tracer.startSpan": {
    options: async (hit) => {
      const span = trace.wrapSpanContext(INVALID_SPAN_CONTEXT);
      return { telemetry: await openTelemetry({ tracer: { startSpan: () => hit(() => span) } }) };
    },
  },
  "openTelemetry.meter.createHistogram": {
    steps: ["first", "tool"],
    options: async (hit) => ({
      telemetry: await openTelemetry({
        meter: { createHistogram: () => hit(() => ({ record: () => hit(() => undefined) })) },
      }),
    }),
  },
  "revocations.isRevoked": "tests/runtime/standalone/refusals.test.ts",
  "scheduler.wake": "tests/runtime/host/due-asks.store.test.ts",
  "titles.write": "tests/runtime/host/titles.test.ts",
  "revocations.revoke": "tests/runtime/standalone/refusals.test.ts",
  "ui.data": ui("data", undefined),
  "ui.metadata": "tests/runtime/ui-messages/streamed-equals-loaded.test.ts",
  "ui.messageMetadata": ui("messageMetadata", undefined),
  "ui.onError": {
    ...ui("onError", "No."),
    steps: ["tool"],
    tool: () => ({ execute: () => Promise.reject(new Error("no")) }),
  },
  "ui.thread": { ...ui("thread", undefined), steps: ["tool", "summary"] },
  "runTool.onError": "below",
  "runTool.onHeartbeat": "below",
  "runTool.onData": "below",
  "runTool.onOutput": "below",
  events: {
    steps: ["tool", "summary"],
    watch: async (request, hit) => {
      for await (const _event of request.events()) await hit(() => undefined);
    },
  },
  textStream: {
    steps: ["tool", "summary"],
    watch: async (request, hit) => {
      for await (const _text of request.textStream) if ((await hit(() => true)) !== true) return;
    },
  },
};

const READS = { contextPolicy: { includeKinds: ["weather"] } };
const SECRET = "postgres://u:secret@db";
const traps = new Proxy(
  {},
  {
    get: () => () => {
      throw new Error(SECRET);
    },
  },
);

const throwing = (value: unknown) => (): never => {
  throw value;
};

/** What a callback can do wrong. */
const MISDEEDS: { readonly [name: string]: () => unknown } = {
  "throws an Error": throwing(new Error(SECRET)),
  "throws undefined": throwing(undefined),
  "throws a text": throwing(SECRET),
  "throws a frozen object": throwing(Object.freeze({ message: SECRET, code: SECRET })),
  "throws a proxy that throws": throwing(new Proxy({}, traps)),
  "returns a rejected promise": () => Promise.reject(new Error(SECRET)),
  "returns a promise that never settles": () => new Promise(() => undefined),
  "returns another type": () => Symbol("other"),
  "returns a proxy that throws": () => new Proxy({}, traps),
  "returns a thenable that throws": () => ({
    // biome-ignore lint/suspicious/noThenProperty: what is tested
    then: () => {
      throw new Error(SECRET);
    },
  }),
};

const unhandled: unknown[] = [];
const note = (error: unknown): void => void unhandled.push(error);
beforeAll(() => void process.on("unhandledRejection", note));
afterAll(() => void process.off("unhandledRejection", note));

const act = { id: "act", name: "act" };
const SCRIPT = [
  {
    calls: [
      { ...act, id: "a" },
      { ...act, id: "b" },
    ],
  },
  { calls: [{ ...act, id: "c" }] },
  ...Array.from({ length: 6 }, () => "{}"),
];
const SUMMARIZES = { keepLastTurns: 1, autoSummarize: true, summarizeThreshold: 3 };
const turn = (n: number) => [
  { kind: "ai_message", payload: { role: "user", content: `Question ${n}, ${"long ".repeat(40)}` } },
  { kind: "ai_message", payload: { role: "assistant", content: `Answer ${n}, ${"long ".repeat(40)}` } },
];

/** One story of a request, in which a callback misbehaves at every call of one step. */
class Story {
  readonly #row: Row;
  readonly #step: Step;
  readonly #misdeed: () => unknown;
  /** The ids of the calls that were run, and of the entries that the store has acknowledged. */
  readonly #ran: string[] = [];
  readonly #acknowledged: string[] = [];
  #now: Step | "over" = "first";
  hits = 0;

  constructor(row: Row, step: Step, misdeed: () => unknown) {
    this.#row = row;
    this.#step = step;
    this.#misdeed = misdeed;
  }

  readonly #hit: Hit = (real) => {
    if (this.#now !== this.#step) return real();
    this.hits += 1;
    return this.#misdeed() as ReturnType<typeof real>;
  };

  #config(script: readonly unknown[]): object {
    const { config, tool } = this.#row;
    const model = scriptedModel(script as readonly ScriptedStep[]);
    const own = (config?.(this.#hit, () => model) ?? {}) as {
      readonly contextPolicy?: object;
      readonly summarizer?: object;
    };
    const made = { inputSchema: anything, execute: () => "did", ...tool?.(this.#hit) };
    const execute = async (input: unknown, options: { readonly toolCallId: string }) => {
      this.#ran.push(options.toolCallId);
      try {
        const did: unknown = made.execute(...([input, options] as unknown as []));
        return await did;
      } finally {
        if (options.toolCallId === "b" && this.#now === "first") this.#now = "tool";
      }
    };
    const summarize = async (...input: unknown[]) => {
      this.#now = this.#now === "over" ? "over" : "summary";
      const { summarizer = { summarize: () => "Old." } } = own;
      return Reflect.apply(Reflect.get(summarizer, "summarize"), summarizer, input);
    };
    return {
      script,
      tools: { act: { ...made, execute } },
      hookTimeoutMs: 50,
      toolTimeoutMs: 50,
      streamIdleTimeoutMs: 50,
      ...own,
      contextPolicy: { ...(this.#step === "summary" && SUMMARIZES), ...own.contextPolicy },
      ...(this.#step === "summary" && { summarizer: { summarize } }),
    };
  }

  /** The requests that were XX. */
  async play(): Promise<void> {
    const on = await stage({
      around: (store) => {
        const append: typeof store.append = async (...input) => {
          const result = await store.append(...input);
          this.#acknowledged.push(...result.entries.map(({ id }) => id));
          return result;
        };
        return Object.assign(Object.create(store), { append });
      },
    });
    await this.#seed(on);
    const before = await on.log();
    const given: object = { context: () => ({}), ...(await this.#row.options?.(this.#hit)) };
    const isResumed = this.#step === "resume";
    const script = isResumed ? [SCRIPT[0], { hang: true }] : SCRIPT;
    let server = await on.start(this.#config(script), given);
    const asking = this.#asked(on, server.ask("Go.", { context: {}, ...this.#row.asks } as never));
    let request = await asking;
    if (request === undefined) {
      expect(await on.log()).toEqual(before);
    } else {
      if (isResumed) {
        await on.settled();
        await on.end(server.stop({ graceMs: 0 }));
        this.#now = "resume";
        const start = () => on.start(this.#config(SCRIPT.slice(1)), given);
        server = await start().catch((error: unknown) => {
          expectCoded(error); // the prompt is not there yet: the request stays open for the next start
          this.#now = "over";
          return start();
        });
        request = server.request;
      }
      if (request !== undefined) await this.#followed(on, request);
    }
    this.#now = "over";
    await this.#checkLog(on);
    // The thread takes another ask. A call that waits for an approval is let go first.
    await on.end(server.cancel());
    if (this.#row.isPure) {
      await on.end(server.stop());
      server = await on.start(this.#config(["{}"]), given);
    }
    const again = await on.end((await on.end(server.ask("Again.", { context: {} } as never))).result);
    expect(["final_answer", "limit"]).toContain(again.terminationReason);
    await on.end(server.stop());
  }

  async #seed({ store, threadId, start, end }: Stage): Promise<void> {
    if (this.#row.registers) {
      const server = await start();
      await end(server.registerTool("find", { inputSchema: anything, execute: () => 1 }));
      await end(server.stop());
    }
    const weather = { kind: "weather", payload: { sky: "blue" } };
    const turns = this.#step === "summary" ? [1, 2, 3, 4].flatMap(turn) : [];
    await store.append(threadId, [weather, ...turns]);
  }

  /** A request, or undefined for an ask that was refused with a code. */
  async #asked(on: Stage, asking: Promise<AgentRequest>): Promise<AgentRequest | undefined> {
    return on.end(asking).catch((error: unknown) => void expectCoded(error));
  }

  async #followed(on: Stage, request: AgentRequest): Promise<void> {
    const events: Parameters<typeof expectWhole>[0][number][] = [];
    const read = async (): Promise<void> => {
      for await (const event of request.events({ until: "waiting" })) events.push(event);
    };
    const watched = this.#row.watch?.(request, this.#hit).catch(() => undefined);
    await on.end(Promise.all([read(), request.settled()]));
    if (this.#row.watch !== undefined && !HANGS.has(this.#misdeed)) await on.end(Promise.resolve(watched));
    if (request.state === "waiting") return; // for an approval that was never refused
    await on.end(request.result.catch(expectCoded));
    expectWhole(events, events[0]?.seq);
    const { failure } = (events.at(-1)?.data ?? {}) as { readonly failure?: { readonly code: string } };
    if (failure !== undefined) expect(CODES).toContain(failure.code);
  }

  async #checkLog(on: Stage): Promise<void> {
    const entries = await on.log();
    const ids = new Set(entries.map(({ id }) => id));
    for (const id of this.#acknowledged) expect(ids).toContain(id);
    const results = entries.flatMap(({ payload }) =>
      "role" in payload && payload["role"] === "tool" ? [payload] : [],
    );
    for (const id of this.#ran) {
      expect(results.filter(({ toolCallId }) => toolCallId === id)).toHaveLength(1);
    }
    const text = JSON.stringify(entries);
    if (this.#row.isQuoted !== true) expect(text).not.toContain("secret");
    expect(text).not.toContain("runtime_failed");
  }
}

const HANGS: ReadonlySet<unknown> = new Set([MISDEEDS["returns a promise that never settles"]]);
const CODES = [...readFileSync("docs/errors.md", "utf8").matchAll(/^\| `([a-z_]+)`/gm)].map(([, code]) => code);

function expectCoded(error: unknown): void {
  expect(HeddleError.isInstance(error), String(error)).toBe(true);
  const { code } = error as HeddleError; // it was checked
  expect(CODES).toContain(code);
}

const THROWS = Object.keys(MISDEEDS).filter((name) => name.startsWith("throws"));
const RETURNS = ["returns another type", "returns a proxy that throws", "returns a thenable that throws"];
const PROMISES = ["returns a rejected promise", "returns a promise that never settles"];

/** A way to throw and a value to return, in turn, and both kinds of promises. `HEDDLE_SOAK=1` plays all misdeeds at all steps. */
function cases(at: number, { steps = STEPS }: Row): readonly (readonly [misdeed: string, step: Step])[] {
  if (process.env["HEDDLE_SOAK"] === "1") {
    return Object.keys(MISDEEDS).flatMap((misdeed) => steps.map((step) => [misdeed, step] as const));
  }
  const misdeeds = [THROWS[at % THROWS.length] ?? "", RETURNS[at % RETURNS.length] ?? "", ...PROMISES];
  return misdeeds.map((misdeed, index) => [misdeed, steps[(at + index) % steps.length] ?? "first"]);
}

const rows = Object.entries(ROWS);
const played = rows.filter((row): row is [string, Row] => typeof row[1] === "object");

describe.each(played)("the callback %s", (name, row) => {
  const at = played.findIndex(([other]) => other === name);
  test.each(cases(at, row))("that %s at the step %s loses nothing", async (misdeed, step) => {
    const story = new Story(row, step, MISDEEDS[misdeed] ?? (() => undefined));
    await story.play();
    expect(story.hits).toBeGreaterThan(0);
    await new Promise((resolve) => setImmediate(resolve));
    expect(unhandled.splice(0)).toEqual([]);
  });
});

test("a callback without a story is tested in the file that its row names", () => {
  for (const [name, file] of rows) {
    if (typeof file === "object" || file === "below") continue;
    expect(existsSync(file), file).toBe(true);
    expect(readFileSync(file, "utf8"), file).toContain(name.split(".").at(-1));
  }
});

test.each(Object.entries(MISDEEDS))("a listener of runTool that %s changes no result", async (_name, misdeed) => {
  async function* execute(_input: unknown, { write }: ToolOptions): AsyncGenerator<string> {
    write({ type: "data-progress", data: 1 });
    yield "half";
    throw new Error("no");
  }
  const listeners = { onError: misdeed, onHeartbeat: misdeed, onOutput: misdeed, onData: misdeed } as object;
  const options = { tools: { act: { inputSchema: anything, execute } }, ...listeners, heartbeatMs: 0 };
  const { failure } = await runTool({ ...act, arguments: {} }, options);
  expect(failure?.code).toBe("tool_failed");
  await new Promise((resolve) => setImmediate(resolve));
  expect(unhandled.splice(0)).toEqual([]);
});
