import { askSignal, modelTextSignal, specify } from "heddle/testing";
import { describe, expect, test } from "vitest";
import type { Failure } from "../../../src/agent/signal.ts";
import { CALCULATOR } from "../support/calculator.ts";

const calculator = specify(CALCULATOR);

describe("an ask is refused", () => {
  test("while another request runs", () => {
    calculator
      .given([askSignal("What's 2+2?")])
      .when(askSignal("And 3+3?"))
      .thenRejects("busy");
  });

  test.each([["", " \n"], [""]].flat())("when it says nothing: %j", (content) => {
    calculator.when(askSignal(content)).thenRejects("empty_ask");
    calculator.when(askSignal([{ type: "text", text: content }])).thenRejects("empty_ask");
  });

  test("when it allows a tool that is not there", () => {
    calculator.when(askSignal("Go", { options: { allowedTools: ["fly"] } })).thenRejects("unknown_tool");
  });

  test("when the tool that the model has to call is not there, or not allowed", () => {
    const choosing = (toolName: string) => specify({ ...CALCULATOR, call: { toolChoice: { type: "tool", toolName } } });
    const outcome = choosing("fly").when(askSignal("Go"));
    outcome.thenRejects("unknown_tool");
    expect(failureIn(outcome.directives)?.message).toBe(
      'toolChoice names "fly"; this request has: add, look, pay, confirm.',
    );
    choosing("add")
      .when(askSignal("Go"))
      .then([{}], [{ type: "llm_stream" }]);
    choosing("add")
      .when(askSignal("Go", { options: { allowedTools: ["look"] } }))
      .thenRejects("unknown_tool");
  });

  test("when its options or refs are none", () => {
    calculator.when(askSignal("Go", { options: { maxIterations: 0 } })).thenRejects("invalid_ask");
    calculator.when(askSignal("Go", { refs: { callId: "call_9" } })).thenRejects("invalid_ask");
    calculator
      .when(askSignal("Go", { options: { contextPolicy: { maxTurns: -1 } } }))
      .thenRejects("policy_invalid_value");
    calculator.when(askSignal("a lone surrogate \ud800")).thenRejects("not_json");
  });

  test.each([[7], [null], [{ type: "text", text: "Hi" }], [["Hi"]], [[null]], [[{ text: "Hi" }]]])(
    "when its content is neither text nor a list of parts: %j",
    (content) => {
      calculator.when(askSignal(content as never)).thenRejects("invalid_ask");
    },
  );

  test("by the caller's own rule, which gives its reason", () => {
    const strict = specify({
      ...CALCULATOR,
      accept: (_, { content }) => (content === "Go" ? "Closed today." : undefined),
    });
    const outcome = strict.when(askSignal("Go"));
    outcome.thenRejects("not_accepted");
    expect(failureIn(outcome.directives)?.message).toBe("Closed today.");
    strict.when(askSignal("Stay")).then([{}], [{ type: "llm_stream" }]);
  });

  test("when its id is that of an earlier request", () => {
    const named = askSignal("What's 2+2?", { requestId: "r1" });
    calculator
      .given([named, modelTextSignal("call_1", "4")])
      .when(named)
      .thenRejects("request_id_reused");
  });

  test("when it does not fit, with the error of what is pending", () => {
    const outcome = calculator.when(askSignal("word ".repeat(32_000)));
    outcome.thenRejects("pending_overflow");
    expect(failureIn(outcome.directives)?.message).toMatch(/\d/);
  });

  test("when nothing would fit, with the error of the budget", () => {
    specify({ ...CALCULATOR, systemPrompt: "word ".repeat(32_000) })
      .when(askSignal("Hi"))
      .thenRejects("budget_overflow");
  });
});

function failureIn(directives: readonly object[]): Failure | undefined {
  return directives.map((directive) => Reflect.get(directive, "failure") as Failure | undefined).find(Boolean);
}
