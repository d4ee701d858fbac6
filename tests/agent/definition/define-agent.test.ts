import { defineAgent, react, type Tools } from "heddle";
import { scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";

const model = scriptedModel([]);
const inputSchema = { type: "object" } as const;

/** As somebody without types would call it. */
function define(config: object): unknown {
  return defineAgent(config as { model: typeof model });
}

describe("a field that no agent has is refused, and the message names the one that was meant", () => {
  test.each([
    ["maxIteration", "maxIterations"],
    ["toolTimeout", "toolTimeoutMs"],
    ["system", "systemPrompt"],
    ["maxSteps", "maxIterations"],
  ])("%s: %s", (field, meant) => {
    expect(() => define({ model, [field]: 3 })).toThrow(
      expect.objectContaining({
        code: "invalid_agent",
        path: field,
        message: `${field} is not a field of an agent. Did you mean ${meant}?`,
      }),
    );
  });

  test("or all of them, when none is like it", () => {
    expect(() => define({ model, color: "red" })).toThrow(/color is not a field of an agent\. It has: name, model, /);
  });
});

test("models, lists of them and modes are checked", () => {
  expect(() => define({ model: "" })).toThrow(/model must be a name/);
  expect(() => define({ model, modes: [] })).toThrow(/modes must be an object of modes by name/);
  expect(() => define({ model, modes: { plan: "x" } })).toThrow(/modes has "plan", which is no object/);
  expect(() => define({ model, modes: { plan: { tool: [] } } })).toThrow(/whose tool is not a field of a mode/);
  const read = { inputSchema: { type: "object" }, execute: () => "" };
  const plan = (...names: string[]) => ({ model, tools: { read }, modes: { plan: { tools: names } } });
  expect(() => define(plan("reads"))).toThrow(/modes.plan.tools names reads, .* Did you mean read\?/);
  expect(() => define(plan("read", "shell"))).toThrow(/names shell, .* It has: read. .* give resolveTool/);
  expect(() => define({ ...plan("shell"), resolveTool: () => undefined })).not.toThrow();
  expect(() => define({ model, modes: { plan: { tools: "read" } } })).toThrow(/whose tools must be a list of names/);
  const ruled =
    (...rules: unknown[]) =>
    () =>
      define({ model, modes: { plan: { rules } } });
  expect(ruled({ tool: "edit", verdict: "deny", pattern: { path: "*" }, reason: "No." })).not.toThrow();
  expect(ruled({ tool: "edit", verdict: "ask" })).toThrow(/whose rules are wrong: The verdict of a rule/);
  expect(ruled({ tool: "edit", verdict: "deny", scope: "lane" })).toThrow(
    /whose rules have "scope", which is not a field/,
  );
  expect(ruled({ tool: "edit", verdict: "deny", reason: 1 })).toThrow(/whose rules have a reason that is not text/);
  expect(() => define({ model, modes: { plan: { rules: {} } } })).toThrow(/whose rules must be a list of rules/);
  expect(() => define({ model: [] })).toThrow(/model must not be an empty list/);
  expect(() => define({ model: ["openai:gpt-5", 5] })).toThrow(/model must be a language model of the AI SDK/);
});

describe("a tool that could never run is refused", () => {
  test.each(["run", "excute", "handler"])("because its function is called %s", (field) => {
    const tools = { pay: { inputSchema, [field]: () => 1 } } as unknown as Tools; // only functions of other names
    expect(() => defineAgent({ model, tools })).toThrow(
      expect.objectContaining({ code: "invalid_tool", path: `pay.${field}` }),
    );
  });

  test("because its schema stands where the AI SDK 4 had it", () => {
    const tools = { pay: { parameters: inputSchema, execute: () => 1 } } as unknown as Tools; // no inputSchema
    expect(() => defineAgent({ model, tools })).toThrow(/pay\.inputSchema must be a schema, .*rename parameters/);
  });

  test("but not one that is answered from outside, with what the AI SDK lets a tool have", () => {
    const ask = {
      inputSchema,
      outputSchema: () => inputSchema,
      needsApproval: () => true,
      onInputStart: () => undefined,
    };
    expect(Object.keys(defineAgent({ model, tools: { ask } }).tools)).toEqual(["ask"]);
  });
});

describe("settings of the pure core are not the config of an agent", () => {
  test.each([
    ["a model that can be called", { model }, "model"],
    ["tools by name", { tools: { pay: { inputSchema } } }, "tools"],
    ["a field it does not have", { instructions: "Be brief." }, "instructions"],
  ])("%s", (_, settings, path) => {
    expect(() => react(settings as object)).toThrow(expect.objectContaining({ code: "invalid_agent", path }));
  });
});

describe("a tool that an agent cannot have is refused", () => {
  const refused = (tool: object) => {
    try {
      define({ model, tools: { pay: { inputSchema, execute: () => 1, ...tool } } });
    } catch (error) {
      return error;
    }
    return undefined;
  };

  test.each([
    ["needsAproval", "needsApproval"],
    ["needApproval", "needsApproval"],
    ["NeedsApproval", "needsApproval"],
    ["requiresApproval", "needsApproval"],
    ["timeout", "timeoutMs"],
    ["maxRetry", "maxRetries"],
    ["repeatabel", "repeatable"],
    ["discription", "description"],
    ["toModelOuput", "toModelOutput"],
  ])("with %s instead of %s, which it would go without unseen", (field, meant) => {
    expect(refused({ [field]: true })).toMatchObject({
      code: "invalid_tool",
      path: `pay.${field}`,
      message: `pay.${field} is not a field of a tool. Did you mean ${meant}?`,
    });
  });

  test("not for what other packages write into theirs", () => {
    const others = {
      title: "Pay",
      strict: true,
      outputSchema: {},
      contextSchema: {},
      metadata: {},
      inputExamples: [],
      id: 1,
    };
    expect(refused({ ...others, providerOptions: {}, onInputStart: () => undefined, owner: "me" })).toBeUndefined();
  });

  test("with a description that is a function: it is recorded before there is a context", () => {
    expect(refused({ description: () => "For Ann" })).toMatchObject({
      code: "invalid_tool",
      path: "pay.description",
      message: expect.stringContaining("server.ask(content, { tools })"),
    });
  });
});

test.each([
  ["a tokenSecret that is too short", { tokenSecret: "short" }, "tokenSecret is shorter than 32 bytes"],
  ["no tokenSecret in its list", { tokenSecret: [] }, "tokenSecret is an empty list"],
  ["a tokenTtlMs beyond all time", { tokenTtlMs: Number.MAX_SAFE_INTEGER }, "tokenTtlMs must be a whole number"],
  ["a tokenBind that is no JSON", { tokenBind: { since: new Date(0) } }, "tokenBind must be JSON: tokenBind.since"],
  ["a tokenBind that is a list", { tokenBind: ["acme"] }, "tokenBind must be text or an object"],
])("an agent with %s is refused, before any model is paid for what no token can tell", (_, config, message) => {
  expect(() => define({ model, ...config })).toThrow(
    expect.objectContaining({ code: "invalid_agent", message: expect.stringContaining(message) }),
  );
});

test("models that are none are refused by their name", () => {
  const model = scriptedModel([]);
  expect(() => defineAgent({ model, models: { small: model, large: "gpt" as never } })).toThrow(
    /models has no model as "large"/,
  );
});

test("a summarizationModel that is not in models is refused, unless a summarizer writes the summaries", () => {
  const contextPolicy = { autoSummarize: true, maxInputTokens: 4000, summarizationModel: "clark" };
  const models = { clerk: model };
  expect(() => define({ model, models, contextPolicy })).toThrow(
    expect.objectContaining({
      code: "invalid_agent",
      path: "contextPolicy.summarizationModel",
      message: "contextPolicy.summarizationModel names clark, which is not in models. Did you mean clerk?",
    }),
  );
  expect(() => define({ model, contextPolicy })).toThrow(expect.objectContaining({ code: "invalid_agent" }));
  expect(() => define({ model, contextPolicy, summarizer: { summarize: () => "" } })).not.toThrow();
  expect(() => define({ model, models: { clark: model }, contextPolicy })).not.toThrow();
});
