import { askSignal, modelCallsSignal, specify, toolResultSignal } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { decideDurable, decideNext } from "../../../src/agent/react/decide.ts";
import type { EntryInput } from "../../../src/thread/entry.ts";
import { CALCULATOR } from "../support/calculator.ts";
import { ASKED_ELSEWHERE, endedElsewhere } from "../support/other-process.ts";

const calculator = specify(CALCULATOR);
const called = calculator.given([askSignal("What's 2+2?"), modelCallsSignal("call_1", [{ id: "a", name: "add" }])]);
const result = toolResultSignal("call_1", "a", "4");

/** An agent that has made its entries durable, after which another process has written these. */
function durable(...entries: readonly EntryInput[]) {
  const { agent } = decideDurable(called.when({ type: "notice" }).agent, result);
  expect(agent.flight.next).toBe("after_tools");
  const { state, thread } = calculator
    .given([...agent.thread.toArray().map(({ seq: _, ...entry }) => entry), ...entries])
    .when({ type: "notice" }).agent;
  return { ...agent, state, thread };
}

describe("after the entries of a signal are durable", () => {
  test("the next step is decided, once", () => {
    const { agent, directives } = decideNext(durable());
    expect(directives.map(({ type }) => type)).toEqual(["checkpoint", "emit", "llm_stream"]);
    expect(decideNext(agent).directives).toEqual([]);
  });

  test("a running request without a next step is left alone", () => {
    const { agent } = called.when({ type: "notice" });
    expect(decideNext(agent)).toEqual({ agent, directives: [] });
  });

  test("there is no next step if another process has ended the request", () => {
    const { agent, directives } = decideNext(durable(endedElsewhere(1)));
    expect(directives).toEqual([]);
    expect(agent.flight.next).toBeUndefined();
  });

  test("there is no next step for the request that another process has started since", () => {
    const before = durable(endedElsewhere(1), ASKED_ELSEWHERE);
    expect(before.state.run?.runId).toBe("run_other");
    const { agent, directives } = decideNext(before);
    expect(directives).toEqual([]);
    expect(agent.thread.rev).toBe(before.thread.rev);
  });
});
