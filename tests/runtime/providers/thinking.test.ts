import type { JsonObject } from "heddle";
import type { ProjectionView } from "heddle/core";
import { sqliteStore } from "heddle/sqlite";
import { describe, expect, test } from "vitest";
import type { AgentConfig } from "../../../src/agent/definition/config.ts";
import { defineTool } from "../../../src/agent/definition/tool.ts";
import type { ApiName } from "../../support/protocol/server.ts";
import { fastFile } from "../../support/temp-folder.ts";
import { modelAt, SEALING, WAYS } from "./support/models.ts";
import { expectAccepted, proveBodies, stage, WEATHER, weatherIn } from "./support/stage.ts";

// Thinking goes back as it came for as long as its provider takes it, and is left out from there on.

/** What each provider seals its thinking with. */
const SEAL: { readonly [api in ApiName]?: RegExp } = {
  "openai-responses": /"encrypted_content":"[^"]+"/g,
  anthropic: /"signature":"[^"]+"|"redacted_thinking"/g,
  gemini: /"thoughtSignature":"(?!skip)[^"]+"/g,
};

function sealsIn(api: ApiName, body: JsonObject | undefined): number {
  return JSON.stringify(body).match(SEAL[api] ?? /$^/g)?.length ?? 0;
}

const EVERY = SEALING.flatMap((api) => WAYS.map((way) => ({ api, ...way })));

describe.each(EVERY)("$api, $way", (setting) => {
  const { api } = setting;

  test("each step of a loop gets back what the steps before it thought, and so does the next ask", async () => {
    const scene = await stage({ ...setting, options: { bindThinking: true } });
    scene.provider.answer(
      { thinking: "Bern first.", text: "Looking.", calls: [weatherIn("Bern")] },
      { thinking: "Now two.", calls: [weatherIn("Basel"), weatherIn("Rome")] },
      { thinking: "One more.", calls: [weatherIn("Oslo")] },
      { thinking: "Done.", text: "Sunny everywhere." },
      { text: "You are welcome." },
    );
    const server = await scene.start();
    expect((await (await server.ask("Weather?")).result).text).toBe("Sunny everywhere.");
    expect((await (await server.ask("Thanks")).result).text).toBe("You are welcome.");
    expectAccepted(scene);
    expect(scene.provider.requests.map(({ body }) => sealsIn(api, body))).toEqual([0, 1, 2, 3, 4]);
    expect(await proveBodies(scene)).toBe(5);
  });

  test("a loop that another process resumes has the thinking it began with", async () => {
    const path = fastFile();
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    let runs = 0;
    const weather = defineTool({
      inputSchema: { type: "object", properties: { city: { type: "string" } } },
      repeatable: true,
      execute: async () => {
        runs++;
        if (runs !== 2) return "Sunny.";
        begin();
        return new Promise<string>(() => undefined);
      },
    });
    const scene = await stage({ ...setting, options: { bindThinking: true }, store: sqliteStore(path) });
    scene.provider.answer(
      { thinking: "Bern first.", calls: [weatherIn("Bern")] },
      { thinking: "Now Basel.", text: "Hm.", calls: [weatherIn("Basel")] },
      { thinking: "Done.", text: "Sunny." },
      { text: "You are welcome." },
    );
    const first = await scene.start({ tools: { weather } });
    await first.ask("Weather?");
    await begun;
    await first.stop({ graceMs: 0 });
    await scene.store.close();

    const again = await stage({ ...setting, store: sqliteStore(path) });
    const server = await again.start({ tools: { weather }, model: scene.model });
    await server.request?.result;
    const { text } = await (await server.ask("Thanks")).result;
    expect(text).toBe("You are welcome.");
    expectAccepted(scene);
    expect(scene.provider.requests.map(({ body }) => sealsIn(api, body))).toEqual([0, 1, 2, 3]);
    expect(runs).toBe(3);
    expect(await proveBodies({ ...scene, store: again.store })).toBe(4);
  });

  test("where the window is cut, what was thought before the cut is left out, and the list stays legal", async () => {
    const scene = await stage({ ...setting, options: { bindThinking: true } });
    let steps = 0;
    scene.provider.answer(() => {
      steps++;
      if (steps % 4 === 0) return { thinking: `Done ${steps}.`, text: `It is sunny, I say for the time ${steps}.` };
      return {
        thinking: `Step ${steps}.`,
        text: steps % 2 === 0 ? "Looking." : "",
        calls: [weatherIn(`City ${steps}`)],
      };
    });
    const server = await scene.start({ contextPolicy: { maxInputTokens: 800, reserveOutputTokens: 200 } });
    const views: ProjectionView[] = [];
    for (let ask = 1; ask <= 6; ask++) {
      const { calls } = await (await server.ask(`Weather, for the time ${ask}?`)).result;
      views.push(...calls.map(({ view }) => view));
    }
    expectAccepted(scene);
    expect(views.some(({ startSeq }) => (startSeq ?? 0) > 0)).toBe(true);
    expect(views.some(({ thinkingDropped }) => thinkingDropped.length > 0)).toBe(true);
    // That of the running turn stays. What Gemini has signed is a call or a text, and goes on with it.
    if (api !== "gemini") expect(sealsIn(api, scene.provider.requests.at(-1)?.body)).toBeLessThanOrEqual(3);
    expect(await proveBodies(scene)).toBe(24);
  });
});

test.each(WAYS)("anthropic, $way: thinking that only Anthropic can read goes back too", async ({ streaming }) => {
  const scene = await stage({ api: "anthropic", streaming, options: { bindThinking: true } });
  scene.provider.answer({ redacted: "secret", calls: [weatherIn("Bern")] }, { thinking: "Hm.", text: "Sunny." });
  scene.provider.answer({ text: "You are welcome." });
  const server = await scene.start();
  await (await server.ask("Weather?")).result;
  await (await server.ask("Thanks")).result;
  expectAccepted(scene);
  expect(scene.provider.requests.map(({ body }) => sealsIn("anthropic", body))).toEqual([0, 1, 2]);
  expect(await proveBodies(scene)).toBe(3);
});

/** A loop of so many steps that a small window moves several times. */
const SMALL_WINDOW = { contextPolicy: { maxInputTokens: 800, reserveOutputTokens: 200 }, maxIterations: 20 } as const;
const BUDGET = { anthropic: { thinking: { type: "enabled", budgetTokens: 1024 } } } as const;

const kindOf = (body: JsonObject): unknown => (body["thinking"] as JsonObject | undefined)?.["type"];

describe.each(WAYS)("anthropic, $way, with a thinking budget", ({ streaming }) => {
  const setting = { api: "anthropic", streaming, name: "claude-sonnet-4-5" } as const;

  test.each<[string, Partial<AgentConfig>]>([
    ["reasoning", { reasoning: "high" }],
    ["the provider's own option", { providerOptions: BUDGET }],
  ])("by %s, a long loop keeps its thinking while the window moves", async (_, config) => {
    const scene = await stage(setting);
    let steps = 0;
    scene.provider.answer(() => {
      steps++;
      return steps === 16
        ? { thinking: "Done.", text: "Sunny." }
        : { thinking: `Step ${steps}.`, calls: [weatherIn(`City ${steps}`)] };
    });
    const server = await scene.start({ ...SMALL_WINDOW, ...config });
    const { text, calls } = await (await server.ask("Weather?")).result;
    expect(text).toBe("Sunny.");
    expect(calls.some(({ view }) => (view.startSeq ?? 0) > 1)).toBe(true);
    expectAccepted(scene);
    expect(new Set(scene.provider.requests.map(({ body }) => kindOf(body)))).toEqual(new Set(["enabled"]));
    expect(await proveBodies(scene)).toBe(16);
  });

  test("a call behind an answer without thinking is made without thinking, and a warning says so once", async () => {
    const scene = await stage(setting);
    scene.provider.answer(
      { thinking: "Bern first.", calls: [weatherIn("Bern")] },
      { calls: [weatherIn("Basel")] },
      { calls: [weatherIn("Rome")] },
      { text: "Sunny." },
      { thinking: "Hm.", text: "You are welcome." },
    );
    const server = await scene.start({ reasoning: "high" });
    expect((await (await server.ask("Weather?")).result).text).toBe("Sunny.");
    await (await server.ask("Thanks")).result;
    expect(scene.provider.requests.filter(({ accepted }) => !accepted)).toEqual([]);
    expect(scene.provider.requests.map(({ body }) => kindOf(body))).toEqual([
      "enabled",
      "enabled",
      "disabled",
      "disabled",
      "enabled",
    ]);
    expect(scene.warnings.filter((warning) => warning.includes("is called without thinking"))).toHaveLength(1);
    expect(await proveBodies(scene)).toBe(5);
  });

  test("a loop that another model began continues without thinking", async () => {
    const scene = await stage(setting);
    scene.provider.answer(
      { thinking: "Bern first.", calls: [weatherIn("Bern"), { name: "hang", arguments: {} }] },
      { text: "Sunny." },
    );
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const hang = defineTool({
      inputSchema: { type: "object" },
      repeatable: true,
      execute: async () => {
        begin();
        return new Promise<string>(() => undefined);
      },
    });
    const done = defineTool({ inputSchema: { type: "object" }, repeatable: true, execute: async () => "ok" });
    const first = await scene.start({
      model: modelAt(scene.provider.url, "openai-responses"),
      tools: { ...WEATHER, hang },
    });
    await first.ask("Weather?");
    await begun;
    await first.stop({ graceMs: 0 });
    const second = await scene.start({ reasoning: "high", tools: { ...WEATHER, hang: done } });
    expect((await second.request?.result)?.text).toBe("Sunny.");
    expect(scene.provider.requests.filter(({ accepted }) => !accepted)).toEqual([]);
    expect(kindOf(scene.provider.requests.at(-1)?.body ?? {})).toBe("disabled");
  });
});

describe.each(WAYS)("anthropic, $way, with thinking that is bound to the messages before it", ({ streaming }) => {
  const setting = { api: "anthropic", streaming, options: { bindThinking: true } } as const;

  test.each<[string, Partial<AgentConfig>, boolean]>([
    ["as the model does by itself", {}, true],
    ["by reasoning", { reasoning: "high" }, true],
    ["by the provider's own option", { providerOptions: { anthropic: { thinking: { type: "adaptive" } } } }, true],
    ["with a budget", { providerOptions: BUDGET }, false],
  ])("%s, a long loop goes on while the window moves", async (_, config, drops) => {
    const scene = await stage(setting);
    let steps = 0;
    scene.provider.answer(() => {
      steps++;
      return steps === 16 ? { text: "Sunny." } : { thinking: `Step ${steps}.`, calls: [weatherIn(`City ${steps}`)] };
    });
    const server = await scene.start({ ...SMALL_WINDOW, ...config });
    expect((await (await server.ask("Weather?")).result).text).toBe("Sunny.");
    expect(scene.provider.requests.filter(({ accepted }) => !accepted)).toEqual([]);
    const bodies = scene.provider.requests.map(({ body }) => JSON.stringify(body));
    expect(bodies[0]).not.toContain("drop_block");
    expect(bodies.some((body) => body.includes("drop_block"))).toBe(drops);
    expect(await proveBodies(scene)).toBe(16);
  });
});

test.each(WAYS)(
  "openai-responses, $way: reasoning that OpenAI has stored is sent as a reference, also behind a cut",
  async ({ streaming }) => {
    const scene = await stage({ api: "openai-responses", streaming });
    let steps = 0;
    scene.provider.answer(() => {
      steps++;
      if (steps % 4 === 0) return { thinking: `Done ${steps}.`, text: `It is sunny, I say for the time ${steps}.` };
      return {
        thinking: `Step ${steps}.`,
        text: steps % 2 === 0 ? "Looking." : "",
        calls: [weatherIn(`City ${steps}`)],
      };
    });
    const server = await scene.start({
      contextPolicy: { maxInputTokens: 800, reserveOutputTokens: 200 },
      providerOptions: { openai: { store: true } },
    });
    for (let ask = 1; ask <= 6; ask++) await (await server.ask(`Weather, for the time ${ask}?`)).result;
    expectAccepted(scene);
    const second = JSON.stringify(scene.provider.requests[1]?.body["input"]);
    expect(second).toContain('"item_reference"');
    expect(await proveBodies(scene)).toBe(24);
  },
);
