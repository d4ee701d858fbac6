import { askSignal, modelTextSignal, specify } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { CALCULATOR } from "../support/calculator.ts";

const ask = askSignal("What's 2+2?");

describe("an answer of the wrong shape", () => {
  const calculator = specify({ ...CALCULATOR, outputRetries: 1 });
  const wrong = { output: { ok: false, issues: ["sum: expected number"] } } as const;

  test("is sent back, and then fails the request", () => {
    const given = calculator.given([ask]);
    given.when({ ...modelTextSignal("call_1", "four"), ...wrong }).then(
      [
        { payload: { content: "four" } },
        { payload: { role: "user", steer: "repair", content: expect.stringContaining("sum: expected number") } },
      ],
      [
        { type: "emit", event: { kind: "output_repaired", data: { attempt: 1 } } },
        { type: "llm_stream", iteration: 2 },
      ],
    );
    given
      .given([{ ...modelTextSignal("call_1", "four"), ...wrong }])
      .when({ ...modelTextSignal("call_2", "vier"), ...wrong })
      .then(
        [{ payload: { content: "vier" } }, { payload: { code: "output_invalid" } }],
        [{ type: "stop", status: "failed" }],
      );
  });

  test("that is put right completes it, with the object", () => {
    calculator
      .given([ask])
      .when({ ...modelTextSignal("call_1", '{"sum":4}'), output: { ok: true, object: { sum: 4 } } })
      .then([{}], [{ type: "emit", event: { kind: "request_completed", data: { object: { sum: 4 } } } }]);
  });
});
