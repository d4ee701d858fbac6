import { generateText, isStepCount, jsonSchema, type ModelMessage, streamText, tool } from "ai";
import type { JsonObject } from "heddle";
import { type ProjectionStepOptions, projectionStep } from "heddle/ai-sdk";
import { describe, expect, onTestFinished, test } from "vitest";
import { type ProtocolServer, startProtocolServer } from "../../support/protocol/server.ts";
import type { ProtocolOptions } from "../../support/protocol/world.ts";
import { modelAt, WAYS } from "./support/models.ts";
import { weatherIn } from "./support/stage.ts";

// A loop of the AI SDK with `prepareStep`, on the real Anthropic package and a server as strict as Anthropic about thinking.

const tools = {
  weather: tool({
    description: "The weather of a city.",
    inputSchema: jsonSchema<{ city: string }>({ type: "object", properties: { city: { type: "string" } } }),
    execute: ({ city }) => `Sunny in ${city}.`,
  }),
};
const policy = { maxInputTokens: 800, reserveOutputTokens: 200 };

interface Loop {
  readonly provider: ProtocolServer;
  readonly warnings: string[];
  /** Asks, and answers the whole conversation. */
  ask(messages: ModelMessage[]): Promise<ModelMessage[]>;
}

interface Setting extends Partial<ProjectionStepOptions> {
  readonly streaming: boolean;
  readonly name?: string;
  readonly server?: ProtocolOptions;
  readonly call?: Pick<Parameters<typeof generateText>[0], "providerOptions" | "reasoning">;
}

async function loop({ streaming, name = "claude-sonnet-5", server, call = {}, ...options }: Setting): Promise<Loop> {
  const provider = await startProtocolServer(server);
  onTestFinished(() => provider.stop());
  const model = modelAt(provider.url, "anthropic", { name });
  const warnings: string[] = [];
  const prepareStep = projectionStep({ policy, tools, warn: (message) => void warnings.push(message), ...options });
  const ask = async (messages: ModelMessage[]): Promise<ModelMessage[]> => {
    const asked = { model, tools, messages, stopWhen: isStepCount(50), maxRetries: 0, prepareStep, ...call };
    if (!streaming) return [...messages, ...(await generateText(asked)).responseMessages];
    return [...messages, ...(await streamText({ ...asked, onError: () => undefined }).responseMessages)];
  };
  return { provider, warnings, ask };
}

const violations = ({ provider }: Loop) => provider.requests.flatMap(({ violation }) => violation ?? []);
const kindOf = (body: JsonObject): unknown => (body["thinking"] as JsonObject | undefined)?.["type"];
const user = (content: string): ModelMessage => ({ role: "user", content });
const BUDGET = { anthropic: { thinking: { type: "enabled", budgetTokens: 1024 } } };

describe.each(WAYS)("$way, with thinking that is bound to the messages before it", ({ streaming }) => {
  const ADAPTIVE = { anthropic: { thinking: { type: "adaptive", display: "summarized" } } };
  test.each<[string, Omit<Setting, "streaming">, boolean]>([
    ["as the model does by itself", {}, true],
    ["by reasoning", { call: { reasoning: "high" } }, true],
    ["by reasoning that the step knows", { call: { reasoning: "high" }, reasoning: "high" }, true],
    ["by the provider's own option", { call: { providerOptions: ADAPTIVE } }, true],
    ["with a budget", { call: { providerOptions: BUDGET } }, true],
    ["with a budget that the step knows", { call: { providerOptions: BUDGET }, providerOptions: BUDGET }, false],
  ])("%s, a long loop goes on while the window moves", async (_, setting, drops) => {
    const scene = await loop({ streaming, server: { bindThinking: true }, ...setting });
    let steps = 0;
    scene.provider.answer(() => {
      steps++;
      return steps % 16 === 0
        ? { thinking: "Done.", text: "Sunny." }
        : { thinking: `Step ${steps}.`, calls: [weatherIn(`City ${steps}`)] };
    });
    const first = await scene.ask([user("Weather?")]);
    await scene.ask([...first, user("And now?")]);
    expect(violations(scene)).toEqual([]);
    expect(scene.provider.requests).toHaveLength(32);
    const bodies = scene.provider.requests.map(({ body }) => JSON.stringify(body));
    expect(bodies[0]).not.toContain("drop_block");
    expect(bodies.some((body) => body.includes("drop_block"))).toBe(drops);
  });
});

describe.each(WAYS)("$way, with a thinking budget", ({ streaming }) => {
  test.each<[string, Partial<ProjectionStepOptions>]>([
    ["that the step knows", { providerOptions: BUDGET }],
    ["that the step does not know", {}],
  ])("%s, a step behind an answer without thinking is made without thinking", async (_, options) => {
    const call = { providerOptions: { anthropic: { ...BUDGET.anthropic, disableParallelToolUse: true } } };
    const scene = await loop({ streaming, name: "claude-sonnet-4-5", call, ...options });
    scene.provider.answer(
      { thinking: "Bern first.", calls: [weatherIn("Bern")] },
      { calls: [weatherIn("Basel")] },
      { calls: [weatherIn("Rome")] },
      { text: "Sunny." },
      { thinking: "Hm.", text: "You are welcome." },
    );
    await scene.ask([...(await scene.ask([user("Weather?")])), user("Thanks")]);
    expect(violations(scene)).toEqual([]);
    expect(scene.provider.requests.map(({ body }) => kindOf(body))).toEqual([
      ...["enabled", "enabled", "disabled", "disabled", "enabled"],
    ]);
    for (const { body } of scene.provider.requests) {
      expect(JSON.stringify(body["tool_choice"])).toContain('"disable_parallel_tool_use":true'); // the caller's option
    }
    expect(scene.warnings).toEqual([expect.stringContaining("is called without thinking")]);
  });

  test("a loop without thinking is called as it is", async () => {
    const scene = await loop({ streaming, name: "claude-sonnet-4-5" });
    scene.provider.answer({ calls: [weatherIn("Bern")] }, { text: "Sunny." });
    await scene.ask([user("Weather?")]);
    expect(violations(scene)).toEqual([]);
    expect(scene.provider.requests.map(({ body }) => body["thinking"])).toEqual([undefined, undefined]);
    expect(scene.warnings).toEqual([]);
  });
});
