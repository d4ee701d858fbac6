import { askSignal, modelCallsSignal, modelTextSignal, specify } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { CALCULATOR } from "../support/calculator.ts";

const limited = specify({ ...CALCULATOR, totalTimeoutMs: 500 });
const ask = askSignal("What's 2+2?");
const failure = { code: "request_timeout" };
const schedule = {
  type: "schedule",
  requestId: "req_1",
  runId: "run_1",
  afterMs: 500,
  signal: { type: "fail", failure },
} as const;

describe("a request with a limit of working time", () => {
  test("has its end scheduled before anything else is begun", () => {
    const { directives } = limited.when(ask).then([{}], [schedule, { type: "llm_stream" }]);
    expect(directives[0]?.type).toBe("schedule");
  });

  test("fails by the signal that was scheduled", () => {
    const [scheduled] = limited.when(ask).directives;
    if (scheduled?.type !== "schedule") throw new Error("nothing was scheduled");
    const late = limited.given([ask]);
    late.when(scheduled.signal).then([], [{ type: "abort", reason: "request_timeout" }]);
    late
      .given([scheduled.signal])
      .when({ type: "llm_error", callId: "call_1", failure: { code: "model_aborted", message: "Aborted." } })
      .then([{ kind: "error", payload: failure }], [{ type: "stop", status: "failed" }]);
  });

  test("has as long again where another process takes it up, also when it waits", () => {
    const called = limited.given([ask, modelCallsSignal("call_1", [{ id: "p", name: "pay" }])]);
    const { agent } = called.when({ type: "approval_needed", callId: "call_1", toolCallId: "p" });
    const died = limited.given(agent.thread.toArray().map(({ seq: _, ...entry }) => entry));
    died.when({ type: "resume" }).then([], [schedule, { type: "await_approval" }]);
    died
      .given([{ type: "resume" }])
      .when({ type: "resume" })
      .then([], []);
  });

  test("has no time limit when it is over, is refused, or is closed", () => {
    const none = (directives: readonly { readonly type: string }[]) =>
      expect(directives.map(({ type }) => type)).not.toContain("schedule");
    none(limited.given([ask]).when(modelTextSignal("call_1", "4")).directives);
    none(limited.given([ask]).when(askSignal("Again?")).directives);
    none(limited.when({ type: "resume" }).directives);
    const { agent } = limited.when(ask);
    const died = limited.given(agent.thread.toArray().map(({ seq: _, ...entry }) => entry));
    none(died.when({ type: "resume", recover: "fail" }).directives);
    none(specify(CALCULATOR).when(ask).directives);
  });
});

describe("a request with a deadline", () => {
  const DAY = 24 * 3_600_000;
  const asked = (deadline: number) => askSignal("What's 2+2?", { options: { deadline } });
  const timerOf = (deadline: number): unknown => {
    const { directives } = specify(CALCULATOR).when(asked(deadline));
    return directives.find(({ type }) => type === "deadline");
  };

  test("has a timer, which is not longer than timers can be", () => {
    const now = specify(CALCULATOR).when(ask).agent.thread.toArray()[0]?.at ?? Number.NaN;
    expect(timerOf(now + 5_000)).toMatchObject({
      requestId: "req_1",
      runId: "run_1",
      afterMs: expect.closeTo(5_000, -2),
    });
    expect(timerOf(now + 40 * DAY)).toMatchObject({ afterMs: 2 ** 31 - 1 });
  });

  test("looks again when the timer was early", () => {
    const now = specify(CALCULATOR).when(ask).agent.thread.toArray()[0]?.at ?? Number.NaN;
    const open = specify(CALCULATOR).given([asked(now + DAY)]);
    open.when({ type: "deadline" }).then([], [{ type: "deadline" }]);
  });
});
