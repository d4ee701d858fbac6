import fc from "fast-check";
import { askSignal, modelCallsSignal, toolResultSignal } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { type ReactAgent, reactAgent, willOnlyWait } from "../../../src/agent/react/agent.ts";
import { decide } from "../../../src/agent/react/decide.ts";
import { reactSettings } from "../../../src/agent/react/settings.ts";
import { hasOpenCalls, openCalls, type Run } from "../../../src/agent/react/state.ts";
import { CALCULATOR } from "../support/calculator.ts";

const NAMES = ["add", "look", "pay", "confirm"];
/** Ids may repeat. */
const calls = fc.array(fc.record({ id: fc.constantFrom("a", "b", "c", "d", "e"), name: fc.constantFrom(...NAMES) }), {
  minLength: 1,
  maxLength: 8,
});
const order = fc.array(fc.record({ id: fc.constantFrom("a", "b", "c", "d", "e"), asks: fc.boolean() }), {
  maxLength: 16,
});

/** The agent after each signal. */
function states(toolCalls: readonly { id: string; name: string }[], signals: readonly { id: string; asks: boolean }[]) {
  let agent = decide(reactAgent(reactSettings(CALCULATOR)), askSignal("Go")).agent;
  const { callId = "" } = agent.flight.call ?? {};
  const agents: ReactAgent[] = [];
  const answered = modelCallsSignal(callId, toolCalls);
  const rest = signals.map(({ id, asks }) =>
    asks
      ? ({ type: "approval_needed", callId, toolCallId: id } as const)
      : toolResultSignal(callId, id, `result of ${id}`),
  );
  for (const signal of [answered, ...rest]) {
    agent = decide(agent, signal).agent;
    agents.push(agent);
  }
  return agents;
}

/** The call that a scan of the whole list finds. */
function firstOpenOf({ calls: all }: Run): number {
  const index = all.findIndex(({ status }) => status !== "done");
  return index < 0 ? all.length : index;
}

describe("the calls of one answer, in any order of their results", () => {
  test("have the first open call that a scan of all finds", () => {
    fc.assert(
      fc.property(calls, order, (toolCalls, signals) => {
        for (const { state } of states(toolCalls, signals)) {
          if (state.run === undefined) return;
          const open = state.run.calls.filter(({ status }) => status !== "done");
          expect(state.run.firstOpen).toBe(firstOpenOf(state.run));
          expect(openCalls(state.run)).toEqual(open);
          expect(hasOpenCalls(state.run)).toBe(open.length > 0);
        }
      }),
    );
  });

  test("wait only for others exactly when each open one does", () => {
    fc.assert(
      fc.property(calls, order, (toolCalls, signals) => {
        for (const agent of states(toolCalls, signals)) {
          const open = agent.state.run?.calls.filter(({ status }) => status !== "done") ?? [];
          const waits = open.every(
            ({ status, call }) => status === "approval_requested" || (status === "open" && call.name === "confirm"),
          );
          expect(willOnlyWait(agent)).toBe(open.length > 0 && waits);
        }
      }),
    );
  });
});
