import {
  generateText,
  isLoopFinished,
  isStepCount,
  type StepResult,
  type StopCondition,
  hasToolCall as sdkHasToolCall,
  jsonSchema as sdkJsonSchema,
  tool as sdkTool,
  stepCountIs,
  type ToolSet,
} from "ai";
import { stepCountIs as stepCountIs6 } from "ai-v6";
import { defineTool, hasToolCall, react, type StopWhenCondition } from "heddle";
import {
  askSignal,
  modelCallsSignal,
  modelTextSignal,
  type ScriptedStep,
  scriptedModel,
  specify,
  toolResultSignal,
} from "heddle/testing";
import { describe, expect, test } from "vitest";
import { CALCULATOR } from "./support/calculator.ts";

const inputSchema = { type: "object" } as const;
const add = defineTool({ inputSchema, repeatable: true, execute: (input) => ({ sum: Number(input["a"]) + 2 }) });
const look = defineTool({ inputSchema, execute: () => "seen" });
const broken = defineTool({
  inputSchema,
  execute: () => {
    throw new Error("No such thing.");
  },
});

const SCRIPT: readonly ScriptedStep[] = [
  { text: "Let me add.", calls: [{ name: "add", arguments: { a: 2 } }] },
  { calls: [{ name: "look" }, { name: "add", arguments: { a: 3 } }] },
  { text: "Once more.", calls: [{ name: "look" }] },
  "4.",
];

async function runUntil(stopWhen: StopWhenCondition | readonly StopWhenCondition[], script = SCRIPT) {
  const model = scriptedModel(script);
  const { terminationReason, text } = await react.run("Add.", { model, tools: { add, look, broken }, stopWhen });
  return { terminationReason, text, calls: model.requests.length };
}

/** The steps that a condition reads after each exchange of the script, with what runs them. */
async function stepsIn(script: readonly ScriptedStep[]): Promise<readonly (readonly StepResult<ToolSet>[])[]> {
  const found: (readonly StepResult<ToolSet>[])[] = [];
  const see: StopCondition<ToolSet> = ({ steps }) => {
    found.push(steps);
    return false;
  };
  await runUntil(see, script);
  return found;
}

describe("conditions of the AI SDK stop an agent", () => {
  test.each([
    ["isStepCount(1)", isStepCount(1), 1],
    ["isStepCount(2)", isStepCount(2), 2],
    ["stepCountIs(2)", stepCountIs(2), 2],
    ["stepCountIs(2) of version 6", stepCountIs6(2), 2],
    ["hasToolCall of the first call", sdkHasToolCall("add"), 1],
    ["hasToolCall of a later call", sdkHasToolCall("pay", "look"), 2],
    ["a list of them", [isLoopFinished(), isStepCount(9), sdkHasToolCall("look")], 2],
    ["a list with one of Heddle", [sdkHasToolCall("pay"), hasToolCall("look")], 2],
  ])("%s", async (_, stopWhen, calls) => {
    expect(await runUntil(stopWhen)).toMatchObject({ terminationReason: "stopped", calls });
  });

  test.each([
    ["isLoopFinished()", isLoopFinished()],
    ["isStepCount of more steps", isStepCount(9)],
    ["hasToolCall of another tool", sdkHasToolCall("pay")],
  ])("%s does not", async (_, stopWhen) => {
    expect(await runUntil(stopWhen)).toEqual({ terminationReason: "final_answer", text: "4.", calls: 4 });
  });

  test("none is called for an answer that is only text", async () => {
    const never = (): boolean => {
      throw new Error("called");
    };
    expect(await runUntil(never, ["4."])).toMatchObject({ terminationReason: "final_answer" });
  });

  test("one that returns a promise fails the request, and the message says why", () => {
    const later: StopCondition<ToolSet> = async () => true;
    specify({ ...CALCULATOR, stopWhen: later })
      .given([askSignal("Add."), modelCallsSignal("call_1", [{ id: "a", name: "add" }])])
      .when(toolResultSignal("call_1", "a", "4"))
      .then([{}, { payload: { code: "stop_when_failed", message: expect.stringContaining("promise") } }]);
  });
});

describe("the steps of an exchange", () => {
  test("have the answers of the request with their calls and results", async () => {
    const [first, second, third] = await stepsIn(SCRIPT);
    expect([first, second, third].map((steps) => steps?.length)).toEqual([1, 2, 3]);
    expect(second?.[0]).toEqual(first?.[0]);
    expect(first?.[0]).toMatchObject({
      stepNumber: 0,
      text: "Let me add.",
      finishReason: "tool-calls",
      toolCalls: [{ type: "tool-call", toolName: "add", input: { a: 2 } }],
      toolResults: [{ type: "tool-result", toolName: "add", input: { a: 2 }, output: { sum: 4 } }],
      content: [{ type: "text" }, { type: "tool-call" }, { type: "tool-result" }],
    });
    expect(first?.[0]?.toolResults[0]?.toolCallId).toBe(first?.[0]?.toolCalls[0]?.toolCallId);
    expect(second?.[1]).toMatchObject({
      stepNumber: 1,
      text: "",
      toolCalls: [{ toolName: "look" }, { toolName: "add" }],
      toolResults: [{ toolName: "look", output: "seen" }, { output: { sum: 5 } }],
    });
  });

  test("have a failed call as an error, not as a result", async () => {
    const [steps] = await stepsIn([{ calls: [{ name: "broken" }] }, "No."]);
    expect(steps?.[0]?.toolResults).toEqual([]);
    expect(steps?.[0]?.content.at(-1)).toMatchObject({ type: "tool-error", toolName: "broken" });
  });

  test("have the files of the answer, and the tokens that are known", () => {
    const seen: unknown[] = [];
    const see: StopCondition<ToolSet> = ({ steps }) => {
      seen.push(steps.map(({ files, usage }) => [files.map(({ mediaType }) => mediaType), usage.totalTokens]));
      return false;
    };
    const file = { type: "file", data: { base64: "aGk=" }, mediaType: "text/plain" } as const;
    const answers = [
      { content: [{ type: "text", text: "Here it is." }, file], usage: { inputTokens: 3, outputTokens: 4 } },
      { content: "Once more.", usage: { outputTokens: 5 } },
      { content: [file, file], usage: { inputTokens: 6 } },
      { content: "", usage: {} },
    ] as const;
    const signals = answers.flatMap((answer, at) => [
      modelCallsSignal(`call_${at + 1}`, [{ id: "a", name: "add" }], answer),
      toolResultSignal(`call_${at + 1}`, "a", "4"),
    ]);
    specify({ ...CALCULATOR, stopWhen: see })
      .given([askSignal("Add."), ...signals.slice(0, -1)])
      .when(signals.at(-1) ?? expect.fail("there are signals"));
    expect(seen.at(-1)).toEqual([
      [["text/plain"], 7],
      [[], 5],
      [["text/plain", "text/plain"], 6],
      [[], undefined],
    ]);
  });

  test("start with the ask: an earlier request has none in them", () => {
    const counts: number[] = [];
    const count: StopCondition<ToolSet> = ({ steps }) => counts.push(steps.length) > 9;
    const call = [{ id: "a", name: "add" }];
    const { agent } = specify({ ...CALCULATOR, stopWhen: count })
      .given([
        askSignal("Add."),
        modelCallsSignal("call_1", call),
        toolResultSignal("call_1", "a", "4"),
        modelTextSignal("call_2", "4"),
        askSignal("Again."),
        modelCallsSignal("call_3", call),
      ])
      .when(toolResultSignal("call_3", "a", "4"));
    expect(agent.state.run?.requestId).toBe("req_2");
    expect(counts).toEqual([1, 1]);
  });

  test("give each of two calls with one id its own result", () => {
    const outputs: unknown[] = [];
    const see: StopCondition<ToolSet> = ({ steps }) => {
      outputs.push(steps[0]?.toolResults.map(({ output }) => output));
      return false;
    };
    const twice = [
      { id: "a", name: "add" },
      { id: "a", name: "look" },
    ];
    const { agent } = specify({ ...CALCULATOR, stopWhen: see })
      .given([askSignal("Add."), modelCallsSignal("call_1", twice), toolResultSignal("call_1", "a", "first")])
      .when(toolResultSignal("call_1", "a", "second"));
    expect(agent.state.run?.iteration).toBe(1);
    expect(outputs).toEqual([["first", "second"]]);
  });

  test("are the same as those of generateText for the same answers", async () => {
    const [, , ours = []] = await stepsIn(SCRIPT);
    const schema = sdkJsonSchema<{ a: number }>({ type: "object" });
    const tools = {
      add: sdkTool({ inputSchema: schema, execute: ({ a }) => ({ sum: a + 2 }) }),
      look: sdkTool({ inputSchema: schema, execute: () => "seen" }),
    };
    const { steps } = await generateText({
      model: scriptedModel(SCRIPT),
      tools,
      prompt: "Add.",
      stopWhen: isStepCount(3),
    });
    const shape = (step: StepResult<ToolSet>) => ({
      text: step.text,
      stepNumber: step.stepNumber,
      finishReason: step.finishReason,
      calls: step.toolCalls.map(({ type, toolName, input }) => ({ type, toolName, input })),
      results: step.toolResults.map(({ type, toolName, input, output }) => ({ type, toolName, input, output })),
      content: step.content.map(({ type }) => type),
      usage: [step.usage.inputTokens, step.usage.outputTokens, step.usage.totalTokens],
      model: step.model,
    });
    expect(ours.map(shape)).toEqual((steps as unknown as StepResult<ToolSet>[]).map(shape)); // its tools are typed
  });
});

test("hasToolCall of Heddle stops generateText of the AI SDK", async () => {
  const model = scriptedModel(SCRIPT);
  const tools = {
    add: sdkTool({ inputSchema: sdkJsonSchema<{ a: number }>(inputSchema), execute: ({ a }) => a + 2 }),
    look: sdkTool({ inputSchema: sdkJsonSchema<object>(inputSchema), execute: () => "seen" }),
  };
  const { steps } = await generateText({
    model,
    tools,
    prompt: "Add.",
    stopWhen: [isStepCount(9), hasToolCall("look")],
  });
  expect(steps.map(({ toolCalls }) => toolCalls.map(({ toolName }) => toolName))).toEqual([["add"], ["look", "add"]]);
});
