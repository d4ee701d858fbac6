import { describe, expect, test } from "vitest";
import { PolicyError } from "../../src/projection/error.ts";
import type { ContextPolicyInput } from "../../src/projection/policy/fields.ts";
import { ContextPolicy } from "../../src/projection/policy/policy.ts";
import type { JsonObject } from "../../src/thread/json.ts";
import { Thread } from "../../src/thread/thread.ts";

/** The error that creating this policy gives. */
function errorOf(input: unknown): PolicyError {
  try {
    ContextPolicy.create(input as ContextPolicyInput);
  } catch (error) {
    if (PolicyError.isInstance(error)) return error;
    throw error;
  }
  throw new Error("The policy was accepted.");
}

describe("a policy", () => {
  test("of nothing has all the defaults", () => {
    expect(ContextPolicy.create()).toEqual({
      maxInputTokens: 8000,
      reserveOutputTokens: 2000,
      maxMessages: 0,
      maxTurns: 0,
      keepLastTurns: 3,
      summarization: "use_existing",
      summaryRole: "system",
      includeKinds: ["message", "tool_call", "tool_result", "summary", "ai_message", "ai_context_operation"],
      tokenEstimator: "heuristic",
      window: { mode: "stable", step: 0.5 },
      toolResults: { keepLast: 0, maxTokens: 0 },
      thinking: "auto",
      overflow: "error",
      summarizeThreshold: 0,
      maxThreadTokens: 0,
      autoSummarize: false,
    });
  });

  test("keeps what is given, and completes nested objects", () => {
    const given = {
      maxInputTokens: 500,
      reserveOutputTokens: 0,
      maxTurns: 9,
      keepLastTurns: 9,
      summarization: "request_new",
      summaryRole: "user",
      systemPrompt: "Be kind.",
      tokenEstimator: "calibrated",
      thinking: "drop",
      overflow: "shrink",
      summarizeThreshold: 40,
      maxThreadTokens: 10_000,
      autoSummarize: true,
      summarizationModel: "openai:gpt-5-mini",
    } as const;
    const policy = ContextPolicy.create({ ...given, window: { mode: "sliding" }, toolResults: { keepLast: 3 } });
    expect(policy).toMatchObject(given);
    expect(policy.window).toEqual({ mode: "sliding", step: 0.5 });
    expect(policy.toolResults).toEqual({ keepLast: 3, maxTokens: 0 });
  });

  test("is frozen through and through, and shares nothing with its input", () => {
    const includeKinds = ["message"];
    const window = { step: 0.25 };
    const policy = ContextPolicy.create({ includeKinds, window });
    includeKinds.push("note");
    window.step = 1;
    expect(policy.includeKinds).toEqual(["message"]);
    expect(policy.window.step).toBe(0.25);
    expect([policy, policy.includeKinds, policy.window, policy.toolResults].every(Object.isFrozen)).toBe(true);
    expect([ContextPolicy.create().includeKinds, ContextPolicy.create().window].every(Object.isFrozen)).toBe(true);
  });

  test("takes undefined as left out", () => {
    const policy = ContextPolicy.create({ maxTurns: undefined, systemPrompt: undefined, window: { step: undefined } });
    expect(policy).toEqual(ContextPolicy.create());
    expect(Object.keys(policy)).not.toContain("systemPrompt");
  });

  test("has no negative zero, which JSON would lose", () => {
    expect(ContextPolicy.create({ maxTurns: -0 }).maxTurns).toBe(0);
  });

  test("holds its kinds as a set: without repeats, in one order", () => {
    const policy = ContextPolicy.create({ includeKinds: ["zeta", "tool_result", "message", "alpha", "message"] });
    expect(policy.includeKinds).toEqual(["message", "tool_result", "alpha", "zeta"]);
  });
});

describe("ceilings and keepLastTurns", () => {
  test.each([
    [{ maxTurns: 2 }, 2],
    [{ maxTurns: 3 }, 3],
    [{ maxTurns: 10 }, 3],
    [{ maxMessages: 4 }, 0],
    [{ maxMessages: 100, maxTurns: 50 }, 0],
    [{ maxTurns: 0, maxMessages: 0 }, 3],
    [{ maxMessages: 10, keepLastTurns: 2 }, 2],
    [{ maxTurns: 2, keepLastTurns: 2 }, 2],
    [{ keepLastTurns: 0 }, 0],
  ])("%o keeps %i turns", (input, floor) => {
    expect(ContextPolicy.create(input).keepLastTurns).toBe(floor);
  });

  test.each([
    [{ maxTurns: 2, keepLastTurns: 3 }, "maxTurns 2"],
    [{ maxMessages: 2, keepLastTurns: 3 }, "maxMessages 2"],
    [{ maxTurns: 5, maxMessages: 1, keepLastTurns: 2 }, "maxMessages 1"],
  ])("%o is impossible", (input, ceiling) => {
    const error = errorOf(input);
    expect(error).toMatchObject({ code: "policy_impossible", path: "keepLastTurns", retryable: false });
    expect(error.message).toContain(ceiling);
  });
});

describe("an impossible policy", () => {
  test.each([
    [{ maxInputTokens: 2000 }],
    [{ maxInputTokens: 100, reserveOutputTokens: 100 }],
    [{ reserveOutputTokens: 8000 }],
    [{ maxInputTokens: 1, reserveOutputTokens: 1 }],
  ])("%o leaves nothing for the input", (input) => {
    const error = errorOf(input);
    expect(error).toMatchObject({ name: "PolicyError", code: "policy_impossible", path: "reserveOutputTokens" });
    expect(error.message).toContain("Set a smaller reserveOutputTokens or a larger maxInputTokens");
  });

  test.each([
    [{ maxTokens: 5 }, "maxTokens"],
    [{ window: { size: 1 } }, "window.size"],
    [{ toolResults: { keep: 1 } }, "toolResults.keep"],
    [JSON.parse('{"__proto__": 1}'), "__proto__"],
    [{ constructor: 1 }, "constructor"],
    [{ toString: undefined }, "toString"],
  ])("%o has an unknown field", (input, path) => {
    const error = errorOf(input);
    expect(error).toMatchObject({ code: "policy_unknown_field", path });
    expect(error.message).toMatch(/It has: \w+, /);
  });

  const numbers = ["maxInputTokens", "reserveOutputTokens", "maxMessages", "maxTurns", "keepLastTurns"];
  const more = ["summarizeThreshold", "maxThreadTokens", "toolResults.keepLast", "toolResults.maxTokens"];
  const bad = [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 60, "5", null, true, [], {}, 5n];
  test.each([...numbers, ...more].flatMap((path) => bad.map((value) => [path, value] as const)))(
    "%s may not be %s",
    (path, value) => {
      const [outer = "", inner] = path.split(".");
      const error = errorOf({ [outer]: inner === undefined ? value : { [inner]: value } });
      expect(error).toMatchObject({ code: "policy_invalid_value", path });
      expect(error.message).toContain(`The policy field ${path} must be a whole number from`);
    },
  );

  test("a window of nothing at all", () => {
    expect(errorOf({ maxInputTokens: 0, reserveOutputTokens: 0 })).toMatchObject({ path: "maxInputTokens" });
  });

  test.each([
    ["summarization", ["always", "", null, true, "toString"]],
    ["summaryRole", ["assistant", 1]],
    ["tokenEstimator", ["exactly", {}]],
    ["thinking", ["never", []]],
    ["overflow", ["ignore", 0]],
    ["window.mode", ["fixed", null]],
    ["window.step", [0, -0.5, 1.01, Number.NaN, "0.5", null]],
    ["window", [null, "stable", [], new Map()]],
    ["toolResults", [5, null]],
    ["autoSummarize", ["yes", 1, null]],
    ["systemPrompt", ["", "  \n", 5, null, "\ud800"]],
    ["summarizationModel", ["", {}, null]],
    ["includeKinds", ["message", [], null, new Set(["message"])]],
  ])("%s may be none of %o", (path, values) => {
    const [outer = "", inner] = path.split(".");
    for (const value of values) {
      const error = errorOf({ [outer]: inner === undefined ? value : { [inner]: value } });
      expect(error).toMatchObject({ code: "policy_invalid_value", path });
      expect(error.message).toMatch(/must be|blank|empty|surrogate/);
    }
  });

  test.each([[[""]], [[1]], [["message", null]], [["\ud800"]]])("includeKinds may not be %o", (includeKinds) => {
    expect(errorOf({ includeKinds }).path).toMatch(/^includeKinds\[\d\]$/);
  });

  test.each([null, 5, "policy", [], new Date(0), () => ({})])("%o is no policy at all", (input) => {
    expect(errorOf(input)).toMatchObject({ code: "policy_invalid_value", path: "" });
  });

  test("a getter that throws", () => {
    const trap = Object.defineProperty({}, "maxTurns", { enumerable: true, get: () => { throw new Error("no"); } }); // biome-ignore format: one thing
    expect(errorOf(trap)).toMatchObject({
      code: "policy_invalid_value",
      message: "A context policy could not be read.",
    });
  });

  test("its message never shows a text it was given", () => {
    expect(errorOf({ summarization: "sk-secret" }).message).not.toContain("secret");
    expect(errorOf({ maxTurns: "sk-secret" }).message).not.toContain("secret");
  });
});

describe("presets", () => {
  test("have the names and values of the contract", () => {
    expect(ContextPolicy.shortContext()).toMatchObject({ maxInputTokens: 6000, keepLastTurns: 2 });
    expect(ContextPolicy.longContext()).toMatchObject({ maxInputTokens: 100_000, keepLastTurns: 10 });
    const tools = ContextPolicy.toolFocused();
    expect(tools).toMatchObject({ maxInputTokens: 8000, keepLastTurns: 5, summarization: "none" });
    expect(tools.includeKinds).toEqual(["message", "tool_call", "tool_result", "ai_message", "ai_context_operation"]);
  });

  test("are policies like any other, and can be overridden", () => {
    const policy = ContextPolicy.longContext({ maxInputTokens: 50_000, maxTurns: 4 });
    expect(policy).toMatchObject({ maxInputTokens: 50_000, maxTurns: 4, keepLastTurns: 4 });
    expect(ContextPolicy.create(policy)).toBe(policy);
    expect(() => ContextPolicy.shortContext({ reserveOutputTokens: 6000 })).toThrow(PolicyError);
    expect(ContextPolicy.toolFocused(ContextPolicy.create())).toEqual(ContextPolicy.create());
  });
});

test("a policy is an instance of its class, and plain data in entries", () => {
  const policy = ContextPolicy.create({ maxTurns: 5 });
  for (const made of [
    policy,
    ContextPolicy.forModel("openai:gpt-5"),
    ContextPolicy.resolve({}),
    ContextPolicy.shortContext(),
  ])
    expect(made).toBeInstanceOf(ContextPolicy);
  expect({ ...policy }).not.toBeInstanceOf(ContextPolicy);
  expect(ContextPolicy.create({ ...policy })).toEqual(policy);
  const [entry] = Thread.create()
    .append({ kind: "note", payload: { policy: policy as unknown as JsonObject } })
    .toArray();
  expect(JSON.stringify(entry?.payload)).toBe(JSON.stringify({ policy }));
  expect(ContextPolicy.hashOf(JSON.parse(JSON.stringify(policy)))).toBe(ContextPolicy.hashOf(policy));
});
