import fc from "fast-check";
import { toUIMessages, uiMessageStream } from "heddle/ai-sdk";
import { describe, expect, onTestFinished, test } from "vitest";
import type { AgentEvent } from "../../../src/agent/event.ts";
import { RequestError } from "../../../src/runtime/request/request-error.ts";
import type { AgentServer } from "../../../src/runtime/server/agent-server.ts";
import { isSoak } from "../../support/case-budget.ts";
import { type Fault, type FaultProxy, PLACES, type Place, startFaultProxy } from "../../support/fault-proxy.ts";
import { expectWhole } from "../support/stage.ts";
import { readBySdk } from "../ui-messages/chat.ts";
import { EVERY_WAY, modelAt } from "./support/models.ts";
import { type Stage, stage, told, weatherIn } from "./support/stage.ts";
import { THREAD } from "./support/thread.ts";

const IDLE_MS = 7_000;
const RETRIES = 2;

// A network that cuts, delays and garbles between an agent on a real package and its provider.

/** The codes that docs/errors.md has for a request that a provider or a network has failed. */
const CODES = [
  "model_rate_limited",
  "model_overloaded",
  "model_unavailable",
  "model_stream_idle",
  "model_answer_timeout",
  "model_stream_interrupted",
  "model_refused",
  "model_bad_request",
  "model_not_found",
  "model_error",
];

interface Scene extends Stage {
  readonly proxy: FaultProxy;
  readonly server: AgentServer;
  readonly ran: readonly string[];
}

type Setting = (typeof EVERY_WAY)[number];

async function scene(setting: Setting): Promise<Scene> {
  const on = await stage(setting);
  const proxy = await startFaultProxy(on.provider.url);
  onTestFinished(() => proxy.stop());
  const ran: string[] = [];
  const book = {
    inputSchema: { type: "object", properties: { city: { type: "string" } } },
    repeatable: false,
    execute: (_input: unknown, { toolCallId }: { readonly toolCallId: string }): string => {
      ran.push(toolCallId);
      return "Booked.";
    },
  };
  const server = await on.start({
    model: modelAt(proxy.url, setting.api),
    tools: { book, weather: book } as never, // their types do not matter here
    modelMaxRetries: RETRIES,
    streamIdleTimeoutMs: IDLE_MS,
  });
  on.provider.answer(({ body }) => {
    const text = JSON.stringify(body);
    if (text.includes("Danke.")) return { text: "Gern." };
    if (text.includes("Booked.")) return { text: ["Gebucht ", "für ", "zwei 🚂."] };
    const calls = [weatherIn("Köln"), { ...weatherIn("Bern"), name: "book" }];
    return { text: ["Grüße ", "aus ", "Köln 🌧️."], calls };
  });
  return { ...on, proxy, server, ran };
}

interface Outcome {
  /** The code of the failure; undefined when the request was answered. */
  readonly code: string | undefined;
  readonly text: string;
  readonly events: readonly AgentEvent[];
}

/** Asks once, and checks all that holds however the request ends. Then asks again, without faults. */
async function story(on: Scene): Promise<Outcome> {
  const { server, store } = on;
  const request = await server.ask("Buche.");
  const page = readBySdk(uiMessageStream(request));
  const outcome = request.result.then(
    ({ text }) => ({ code: undefined, text }),
    (error: unknown) => ({ code: codeOf(error), text: "" }),
  );
  endSilences(on, outcome);
  const { code, text } = await outcome;
  const events = await told(request);
  expectWhole(events);
  expect(new Set(on.ran).size).toBe(on.ran.length);
  expectWordsOnce((await page).message.parts);
  await expectNextAsk(on);
  expectWordsOnce(toUIMessages(await server.thread()).flatMap(({ parts }) => parts));
  await store.verify(THREAD);
  return { code, text, events };
}

/** Where an answer falls silent, the time limit of its call is over at once. */
function endSilences({ proxy, timers }: Scene, outcome: Promise<unknown>): void {
  let isOver = false;
  void outcome.finally(() => {
    isOver = true;
  });
  const end = async (): Promise<void> => {
    for (;;) {
      await proxy.stalled();
      if (isOver) return;
      timers.fire(IDLE_MS);
      timers.fire(5 * IDLE_MS);
    }
  };
  void end();
}

function codeOf(error: unknown): string | undefined {
  if (!RequestError.isInstance(error)) throw error;
  expect(CODES).toContain(error.failure?.code);
  return error.failure?.code;
}

/** The words of the answers, each at most once. */
function expectWordsOnce(parts: readonly { readonly type: string; readonly text?: string }[]): void {
  const text = parts.flatMap((part) => (part.type === "text" ? [part.text ?? ""] : [])).join("|");
  for (const word of ["Grüße", "Köln", "Gebucht", "zwei"]) {
    expect(text.split(word).length - 1, text).toBeLessThanOrEqual(1);
  }
}

/** The thread goes on, and its provider takes it. */
async function expectNextAsk({ server, provider, proxy, ran }: Scene): Promise<void> {
  proxy.fail(); // nothing more
  const before = provider.requests.length;
  expect((await (await server.ask("Danke.")).result).text).toBe("Gern.");
  expect(provider.requests.slice(before).map(({ violation }) => violation)).toEqual([undefined]);
  expect(new Set(ran).size).toBe(ran.length);
}

const SPOKEN = "Gebucht für zwei 🚂.";

function none(count: number): readonly undefined[] {
  return Array.from({ length: count }, () => undefined);
}

/** The codes of a request whose every attempt was cut there. */
function codesOf(at: Place, { streaming }: Setting): readonly string[] {
  if (at === "before the head" || at === "in the head") return ["model_unavailable"];
  if (!streaming) return ["model_unavailable", "model_error"]; // a part of an answer is no JSON
  // Some packages read the first events before they return a stream.
  const isEarly = at === "before the first event" || at === "inside the first event" || at === "inside a character";
  return isEarly ? ["model_unavailable", "model_stream_interrupted"] : ["model_stream_interrupted"];
}

const CUTS = [
  { how: "reset", framing: "chunked" },
  { how: "end", framing: "chunked" },
  { how: "end", framing: "close" },
  { how: "stall", framing: "chunked" },
] as const;

describe.each(EVERY_WAY)("$api, $way", (setting) => {
  const turn = EVERY_WAY.indexOf(setting);

  describe.each(CUTS)("an answer that is cut: $how, $framing", (cut) => {
    // Each place with the first and the second call, in one attempt and in all; a short run takes one of twelve.
    const cases = PLACES.flatMap((at, index) =>
      [0, 1, 2, 3].flatMap((which) => {
        const isTaken = isSoak || (index + turn + CUTS.indexOf(cut)) % 12 === which;
        return isTaken ? [{ at, step: which % 2, attempts: which < 2 ? 1 : RETRIES + 1 }] : [];
      }),
    );

    test.each(cases)("$at of call $step, $attempts times", async ({ at, step, attempts }) => {
      const on = await scene(setting);
      const fault: Fault = { type: "cut", at, ...cut };
      on.proxy.fail(...none(step), ...Array.from({ length: attempts }, () => fault));
      const { code, text, events } = await story(on);
      const retried = events.flatMap((event) => (event.kind === "llm_retried" ? [event.data.failure.code] : []));
      if (code === undefined) {
        expect(text).toBe(SPOKEN);
        expect(on.ran).toHaveLength(2);
        expect(retried.length).toBeLessThanOrEqual(1);
      } else {
        expect(attempts).toBeGreaterThan(1);
        expect(on.ran).toHaveLength(2 * step);
        expect(retried).toHaveLength(RETRIES);
      }
      if (cut.how === "stall") return;
      const codes = codesOf(at, setting);
      for (const one of code === undefined ? retried : [...retried, code]) expect(codes).toContain(one);
    });
  });

  test("the usage of an answer that is cut after its first word is reported, or estimated and marked", async () => {
    const on = await scene(setting);
    const cut: Fault = { type: "cut", at: "before the last event", how: "reset", framing: "chunked" };
    on.proxy.fail(...Array.from({ length: RETRIES + 1 }, () => cut));
    const error: unknown = await (await on.server.ask("Buche.")).result.catch((thrown: unknown) => thrown);
    if (!RequestError.isInstance(error)) throw error;
    const { usage = {}, failure } = error;
    if (failure?.code === "model_stream_interrupted") {
      const { inputTokens = 0, outputTokens = 0 } = usage;
      expect([inputTokens > RETRIES, outputTokens > RETRIES, usage.estimated]).toEqual([true, true, true]);
      const { usage: sums } = await on.server.usage();
      expect(sums).toMatchObject({ inputTokens, outputTokens });
    } else expect(setting.streaming).toBe(false);
  });

  test("an answer in pieces of one byte is the same answer", async () => {
    const on = await scene(setting);
    on.proxy.fail({ type: "pieces", bytes: 1 }, { type: "pieces", bytes: 3, framing: "close" });
    expect((await story(on)).text).toBe(SPOKEN);
    expect(on.proxy.count).toBe(3);
  });

  test.each([0, 1, 3, 1_000])("event %i that is invalid JSON is not taken for an answer", async (event) => {
    const on = await scene(setting);
    on.proxy.fail({ type: "broken_json", event });
    expect((await story(on)).text).toBe(SPOKEN);
    expect(on.ran).toHaveLength(2);
  });

  test("one wrong byte anywhere ends in an answer or in a code, once", async () => {
    const garble = fc.record({
      type: fc.constant("garble" as const),
      at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      byte: fc.integer({ min: 0, max: 255 }),
    });
    await fc.assert(
      fc.asyncProperty(garble, fc.nat({ max: 1 }), async (fault, step) => {
        const on = await scene(setting);
        on.proxy.fail(...none(step), fault);
        await story(on);
      }),
      { numRuns: 500 },
    );
  });

  test.each([
    [500, "model_unavailable", false],
    [502, "model_unavailable", true],
    [529, "model_overloaded", false],
  ] as const)("status %i of a gateway is %s", async (status, code, html) => {
    const on = await scene(setting);
    on.proxy.fail(
      ...none(1),
      ...Array.from({ length: RETRIES + 1 }, () => ({ type: "status", status, html }) as const),
    );
    expect((await story(on)).code).toBe(code);
    expect(on.ran).toHaveLength(2);
  });

  test("a rate limit is waited for, and one of an hour fails at once", async () => {
    const on = await scene(setting);
    on.proxy.fail({ type: "status", status: 429, retryAfterS: 3 }, undefined, {
      type: "status",
      status: 429,
      retryAfterS: 3_600,
    });
    const { code, events } = await story(on);
    expect(code).toBe("model_rate_limited");
    expect(events.flatMap((event) => (event.kind === "llm_retried" ? [event.data.waitMs] : []))).toEqual([3_000]);
    expect(on.proxy.count).toBe(4);
  });
});
