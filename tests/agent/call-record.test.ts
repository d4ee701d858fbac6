import fc from "fast-check";
import type { JsonObject } from "heddle";
import { type CallRecord, recordedCall } from "heddle/core";
import { expect, test } from "vitest";
import { storedCall } from "../../src/agent/model-call.ts";

const usual: CallRecord = {
  model: "test:model",
  basisRev: 3,
  basisLastSeq: 2,
  lane: "default",
  policy: "p",
  environment: "e",
  fingerprint: "f",
  projector: "heddle/1.1",
  counter: { id: "heuristic", version: "1" },
  calibration: 1,
  view: { startSeq: 0, headSeqs: [], cleared: [], thinkingDropped: [] },
  estimatedTokens: 76,
  usage: { inputTokens: 37, outputTokens: 28, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 },
  finishReason: "stop",
};

/** The record as it comes back from the JSON of its entry. */
function read(call: object, contextRef = "default"): unknown {
  return recordedCall({ payload: JSON.parse(JSON.stringify({ contextRef, call })) as JsonObject });
}

test("a usual record is stored without its usual values", () => {
  expect(storedCall(usual, "default")).toEqual({
    v: 2,
    model: "test:model",
    basisLastSeq: 2,
    policy: "p",
    environment: "e",
    fingerprint: "f",
    projector: "heddle/1.1",
    estimatedTokens: 76,
    usage: { inputTokens: 37, outputTokens: 28 },
    finishReason: "stop",
  });
  expect(read(storedCall(usual, "default"))).toEqual(usual);
});

const seqs = fc.array(fc.nat(9), { maxLength: 2 });
const count = fc.nat(2);
const record = fc.record<CallRecord>(
  {
    model: fc.string(),
    basisRev: fc.nat(3),
    basisLastSeq: fc.integer({ min: -1, max: 3 }),
    lane: fc.constantFrom("default", "other", ""),
    policy: fc.string(),
    environment: fc.string(),
    fingerprint: fc.string(),
    projector: fc.constantFrom("heddle/1", "heddle/1.1"),
    counter: fc.record({ id: fc.constantFrom("heuristic", "own"), version: fc.constantFrom("1", "2") }),
    calibration: fc.constantFrom(1, 1.5),
    view: fc.record(
      {
        startSeq: count,
        startItem: count,
        headSeqs: seqs,
        summarySeq: count,
        cleared: seqs,
        thinkingDropped: seqs,
        thinkingStale: seqs,
        shrunk: fc.array(fc.record({ seq: count, bytes: count }), { maxLength: 1 }),
      },
      { requiredKeys: ["headSeqs", "cleared", "thinkingDropped"] },
    ),
    estimatedTokens: count,
    sent: fc.string(),
    usage: fc.record(
      {
        inputTokens: count,
        outputTokens: count,
        cacheReadTokens: count,
        cacheWriteTokens: count,
        reasoningTokens: count,
      },
      { requiredKeys: [] },
    ),
    finishReason: fc.constantFrom("stop", "error"),
    eventSeq: count,
    workedMs: count,
  },
  {
    requiredKeys: [
      ...(["basisRev", "basisLastSeq", "lane", "policy", "environment", "fingerprint", "projector"] as const),
      ...(["counter", "calibration", "view", "estimatedTokens", "usage", "finishReason"] as const),
    ],
  },
);

test("a record is read as it was written, on every lane", () => {
  fc.assert(
    fc.property(record, fc.constantFrom("default", "other", ""), (given, lane) => {
      expect(read(storedCall(given, lane), lane)).toEqual(given);
    }),
  );
});

test("a record of an earlier version, of a summary or of an own loop is read as it is", () => {
  const { cacheWriteTokens, ...usage } = usual.usage;
  const earlier = { ...usual, usage, view: { headSeqs: [], cleared: [], thinkingDropped: [] } };
  for (const call of [
    earlier,
    usual,
    { model: "m", usage, finishReason: "stop" },
    { model: "m", fingerprint: "f" },
    {},
  ])
    expect(read(call)).toEqual(call);
});

test("an entry without a record has none, and a damaged record does not throw", () => {
  expect(recordedCall({ payload: { role: "user", content: "Hi" } })).toBeUndefined();
  expect(recordedCall({ payload: { call: "x" } })).toBeUndefined();
  expect(read({ v: 2, view: 1, usage: null })).toMatchObject({ usage: { cacheReadTokens: 0 }, calibration: 1 });
});
