import { expect, test } from "vitest";
import { PolicyError } from "../../src/projection/error.ts";
import { ContextPolicy } from "../../src/projection/policy/policy.ts";

const request = ContextPolicy.create({ maxInputTokens: 4001 });
const state = ContextPolicy.create({ maxInputTokens: 4002 });
const definition = ContextPolicy.create({ maxInputTokens: 4003 });
const model = "anthropic:claude-sonnet-4";

/** A policy with what an agent does about long results, where it leaves that open. */
function forAgent(policy: ContextPolicy): ContextPolicy {
  const maxTokens = Math.floor((policy.maxInputTokens - policy.reserveOutputTokens) / 2);
  return { ...policy, overflow: "shrink", toolResults: { ...policy.toolResults, maxTokens } };
}

test("request, agent state, definition, model, default: the first that is given counts", () => {
  expect(ContextPolicy.resolve({ request, state, definition, model })).toBe(request);
  expect(ContextPolicy.resolve({ state, definition, model })).toBe(state);
  expect(ContextPolicy.resolve({ definition, model })).toBe(definition);
  expect(ContextPolicy.resolve({ model })).toEqual(
    forAgent(ContextPolicy.forModel(model, { maxInputTokens: 100_000 })),
  );
  expect(ContextPolicy.resolve({})).toEqual(forAgent(ContextPolicy.create()));
});

test("it counts as a whole, except for the window, which comes from the next policy if it names none", () => {
  const { maxInputTokens, reserveOutputTokens } = definition;
  const window = { maxInputTokens, reserveOutputTokens };
  expect(ContextPolicy.resolve({ request: { maxTurns: 2 }, definition, model })).toEqual(
    forAgent(ContextPolicy.create({ maxTurns: 2, ...window })),
  );
  expect(ContextPolicy.resolve({ request: {}, state: { keepLastTurns: 9 }, definition })).toEqual(
    forAgent(ContextPolicy.create(window)),
  );
  const ofModel = ContextPolicy.resolve({ model });
  expect(ContextPolicy.resolve({ definition: { autoSummarize: true }, model })).toMatchObject({
    autoSummarize: true,
    maxInputTokens: ofModel.maxInputTokens,
    reserveOutputTokens: ofModel.reserveOutputTokens,
  });
  expect(ContextPolicy.resolve({ request: { maxTurns: 2 }, state: { maxInputTokens: 5000 }, model })).toEqual(
    forAgent(ContextPolicy.create({ maxTurns: 2, maxInputTokens: 5000 })),
  );
  expect(ContextPolicy.resolve({ request: { maxTurns: 2 } })).toEqual(forAgent(ContextPolicy.create({ maxTurns: 2 })));
});

test("a model's window is capped at 100 000 for an agent; a smaller one stays, an unknown one is 32 000", () => {
  expect(ContextPolicy.resolve({ model: "openai:gpt-5.1" })).toMatchObject({
    maxInputTokens: 100_000,
    reserveOutputTokens: 16_000,
  });
  expect(ContextPolicy.resolve({ model: "deepseek:deepseek-chat" })).toMatchObject({ maxInputTokens: 64_000 });
  expect(ContextPolicy.resolve({ model: "nobody:knows" })).toMatchObject({
    maxInputTokens: 32_000,
    reserveOutputTokens: 8000,
  });
  expect(ContextPolicy.create().maxInputTokens).toBe(8000);
  expect(ContextPolicy.forModel("nobody:knows").maxInputTokens).toBe(8000);
  expect(ContextPolicy.resolve({ request: { maxInputTokens: 150_000 }, model }).maxInputTokens).toBe(150_000);
});

test("an agent shortens results longer than half of the tokens for input, unless the policy sets its own limit", () => {
  const half = { overflow: "shrink", toolResults: { keepLast: 0, maxTokens: 12_000 } };
  expect(ContextPolicy.resolve({ model: "nobody:knows" })).toMatchObject(half);
  expect(ContextPolicy.resolve({ definition: { autoSummarize: true }, model: "nobody:knows" })).toMatchObject(half);
  const own = { overflow: "error", toolResults: { keepLast: 4 } } as const;
  expect(ContextPolicy.resolve({ definition: own, model: "nobody:knows" })).toMatchObject({
    overflow: "error",
    toolResults: { keepLast: 4, maxTokens: 12_000 },
  });
  const off = { toolResults: { maxTokens: 0 } };
  expect(ContextPolicy.resolve({ definition: off, model: "nobody:knows" }).toolResults.maxTokens).toBe(0);
});

test("the reserve is at least the longest answer the agent allows", () => {
  expect(ContextPolicy.resolve({ definition, maxOutputTokens: 3000 })).toEqual({
    ...definition,
    reserveOutputTokens: 3000,
  });
  expect(ContextPolicy.resolve({ definition, maxOutputTokens: 100 })).toBe(definition);
  const longest = () => ContextPolicy.resolve({ definition, maxOutputTokens: 4003 });
  expect(longest).toThrow(PolicyError);
  expect(longest).toThrow("maxOutputTokens 4003 leaves nothing of maxInputTokens 4003");
  expect(() => ContextPolicy.resolve({ definition, maxOutputTokens: Number.NaN })).toThrow(PolicyError);
});

test("an impossible policy is an error wherever it comes from", () => {
  expect(() => ContextPolicy.resolve({ request: { maxTurns: -1 } })).toThrow(PolicyError);
  expect(() => ContextPolicy.resolve({ state: { reserveOutputTokens: 9000 } })).toThrow(PolicyError);
});
