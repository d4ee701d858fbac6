import * as sdk from "ai";
import * as sdk6 from "ai-v6";
import { defineAgent, hasToolCall, react, type StopWhenCondition } from "heddle";
import type { CompletedExchange, RequestStep } from "heddle/core";
import { scriptedModel } from "heddle/testing";
import { expectTypeOf, test } from "vitest";

const model = scriptedModel([]);

test("stopWhen is a function of the exchange, or a list of them", () => {
  defineAgent({
    model,
    stopWhen: (exchange) => {
      expectTypeOf(exchange).toEqualTypeOf<CompletedExchange>();
      return true;
    },
  });
  defineAgent({ model, stopWhen: [hasToolCall("done"), ({ iteration, usage }) => iteration > 2 && usage !== null] });
  void react.run("Go.", { model, stopWhen: ({ results }) => results.some(({ isError }) => isError) });
  expectTypeOf(hasToolCall("done")).toExtend<StopWhenCondition>();
});

test("conditions of the AI SDK are accepted, of versions 6 and 7", () => {
  const stopWhen = [sdk.isStepCount(3), sdk.stepCountIs(3), sdk.hasToolCall("a", "b"), sdk.isLoopFinished()];
  defineAgent({ model, stopWhen });
  defineAgent({ model, stopWhen: sdk.isStepCount(3) });
  defineAgent({ model, stopWhen: sdk.hasToolCall("done") });
  defineAgent({ model, stopWhen: [sdk6.stepCountIs(3), sdk6.hasToolCall("done"), hasToolCall("done")] });
  const own: sdk.StopCondition<sdk.ToolSet> = ({ steps }) => steps.some(({ toolResults }) => toolResults.length > 2);
  defineAgent({ model, stopWhen: own });
});

test("a step is a StepResult of the AI SDK", () => {
  expectTypeOf<RequestStep>().toExtend<sdk.StepResult<sdk.ToolSet>>();
});

test("hasToolCall is a condition of the AI SDK", () => {
  const inputSchema = sdk.jsonSchema<{ a: number }>({ type: "object" });
  const tools = { done: sdk.tool({ inputSchema, execute: ({ a }) => a }) };
  void (() => sdk.generateText({ model, tools, prompt: "Go.", stopWhen: hasToolCall("done") }));
  void (() => sdk.generateText({ model, tools, prompt: "Go.", stopWhen: [hasToolCall("done"), sdk.isStepCount(3)] }));
  expectTypeOf(hasToolCall<typeof tools>("done")).toExtend<sdk.StopCondition<typeof tools>>();
});

test("it answers at once", () => {
  // The type allows a promise, as conditions of the AI SDK have it in theirs. At run time it is refused.
  expectTypeOf<ReturnType<StopWhenCondition>>().toEqualTypeOf<boolean | PromiseLike<boolean>>();
  // @ts-expect-error a text is no verdict
  defineAgent({ model, stopWhen: () => "yes" });
  // @ts-expect-error a number is no function
  defineAgent({ model, stopWhen: 3 });
});
