import {
  createProjector,
  explain,
  memoryStore,
  type ProjectionInput,
  project,
  projectFromStore,
  transcript,
} from "heddle";
import { foldLane, summaryRangeOf } from "heddle/core";
import { user } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { given } from "./given.ts";

const thread = given(user("hi"));

/** Inputs that no type would let through, and what the message must name. */
const bad: readonly (readonly [name: string, input: unknown, code: string, message: RegExp])[] = [
  ["nothing", undefined, "invalid_input", /input must be a plain object, not undefined/],
  ["a thread alone", thread, "invalid_input", /input must be a plain object/],
  ["no thread", {}, "invalid_input", /thread must be a Thread/],
  ["entries instead of a thread", { thread: [] }, "invalid_input", /thread must be a Thread, not an array/],
  [
    "a field that does not exist",
    { thread, tool: [] },
    "invalid_input",
    /no field tool\. Did you mean tools\? It has: thread/,
  ],
  ["an impossible policy", { thread, policy: { maxInputTokens: -1 } }, "policy_invalid_value", /maxInputTokens/],
  ["an unknown policy field", { thread, policy: { tokens: 1 } }, "policy_unknown_field", /tokens/],
  ["a system prompt that is no text", { thread, system: 4 }, "invalid_input", /system must be text or \{ prompt \}/],
  ["tools by name", { thread, tools: { add: {} } }, "invalid_input", /tools must be a list/],
  ["a tool without a name", { thread, tools: [{ inputSchema: {} }] }, "invalid_input", /tools\[0\]\.name/],
  [
    "a tool without a schema",
    { thread, tools: [{ name: "add" }] },
    "invalid_input",
    /tools\[0\]\.inputSchema is missing/,
  ],
  ["a number pending", { thread, pending: [4] }, "invalid_input", /pending\[0\] must be text, a message or an entry/],
  [
    "pending on another lane",
    { thread, pending: [{ payload: { contextRef: "b" } }] },
    "invalid_input",
    /belongs to lane "b"/,
  ],
  ["a summary pending", { thread, pending: [{ kind: "summary" }] }, "invalid_input", /only messages and results/],
  [
    "a lane without a name",
    { thread, lane: "" },
    "invalid_input",
    /lane must be a non-empty string, not an empty text/,
  ],
  [
    "a model object",
    { thread, model: { id: "x" } },
    "invalid_input",
    /model must be a non-empty string, not an object/,
  ],
  ["a reader that cannot read", { thread, readers: { note: {} } }, "invalid_input", /readers\.note must be \{ version/],
  [
    "a counter that cannot count",
    { thread, tokenCounter: {} },
    "invalid_input",
    /tokenCounter must be an object with count/,
  ],
  ["a previous that is no projection", { thread, previous: {} }, "invalid_input", /previous must be a projection/],
];

describe.each([
  ["project", project],
  ["explain", explain],
] as const)("%s refuses", (_, call) => {
  test.each(bad)("%s", (_, input, code, message) => {
    expect(() => call(input as ProjectionInput)).toThrow(
      expect.objectContaining({ code, message: expect.stringMatching(message) }),
    );
  });
});

test.each(["x", 0, -1, 1.5, Number.NaN, null])("a projector cannot keep %s lanes", (keep) => {
  expect(() => createProjector({ keep } as never)).toThrow(
    expect.objectContaining({ code: "invalid_input", message: expect.stringContaining("keep must be a whole number") }),
  );
});

test.each<[string, unknown, RegExp]>([
  ["nothing", null, /options must be a plain object, not null/],
  ["a list", [], /options must be a plain object, not an array/],
  [
    "a field that does not exist",
    { callID: "c" },
    /options has no field callID\. Did you mean callId\? It has: lane, callId, readers/,
  ],
  ["a field of a projection", { policy: {} }, /no field policy/],
  ["a lane by number", { lane: 7 }, /lane must be a non-empty string, not a number/],
  ["a lane without a name", { lane: "" }, /lane must be a non-empty string/],
  ["a call by number", { callId: 7 }, /callId must be a non-empty string/],
  ["no reader", { readers: { x: null } }, /readers\.x must be \{ version/],
  ["readers as a list", { readers: [] }, /readers must be an object/],
])("a transcript refuses %s", (_, options, message) => {
  expect(() => transcript(thread, options as never)).toThrow(
    expect.objectContaining({ code: "invalid_input", message: expect.stringMatching(message) }),
  );
});

test("a projector refuses unknown options", () => {
  expect(() => createProjector({ polcy: {} } as never)).toThrow(/options has no field polcy/);
});

test("a store's window refuses the same, and a thread that is not there", async () => {
  const store = memoryStore();
  await expect(projectFromStore(store, "t", { tool: [] } as never)).rejects.toThrow(/no field tool/);
  await expect(projectFromStore(store, "t")).rejects.toMatchObject({ code: "thread_not_found" });
});

test("what looks at lanes, transcripts and ranges says what it needs", () => {
  expect(() => foldLane(thread, "")).toThrow(expect.objectContaining({ code: "invalid_id" }));
  expect(() => foldLane(thread, "default", { atSeq: 9 })).toThrow(
    expect.objectContaining({ code: "seq_out_of_range" }),
  );
  expect(() => transcript([] as never)).toThrow(expect.objectContaining({ code: "invalid_input" }));
  expect(() => summaryRangeOf({ thread, lane: "default" }, Number.NaN)).toThrow(/toSeq must be a seq/);
});
