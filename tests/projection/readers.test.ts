import { ContextPolicy, type ContextPolicyInput, project, type Reader } from "heddle";
import { assistant, note, user } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { ai, given, refusalOf, shown, told } from "./given.ts";

const includeKinds = [...ContextPolicy.create().includeKinds, "weather"];
const policy: ContextPolicyInput = { includeKinds };
const sunny: Reader = { version: 1, read: ({ celsius }) => ({ type: "user", content: `It is ${celsius} degrees.` }) };
const weather = (celsius: number, v?: number) => ({
  kind: "weather",
  payload: { celsius },
  ...(v !== undefined && { v }),
});

describe("a reader of your own", () => {
  test("says what an entry of its kind says", () => {
    const projection = shown([user("hi"), weather(21)], { policy, readers: { weather: sunny } });
    expect(told(projection)).toEqual(["user: hi", "user: It is 21 degrees."]);
  });

  test("may make calls and results of it, is told where it stands, and may say nothing", () => {
    const lookup: Reader = {
      version: 1,
      read: ({ celsius }, { seq, kind, refs }) =>
        celsius === undefined
          ? undefined
          : celsius === 0
            ? {
                type: "assistant",
                content: `${kind} at ${seq} for ${refs.runId}`,
                toolCalls: [{ id: "a", name: "look", arguments: {} }],
              }
            : { type: "tool_result", toolCallId: "a", content: `${celsius}` },
    };
    const entries = [user("hi"), { ...weather(0), refs: { runId: "run_1" } }, { kind: "weather" }, weather(21)];
    expect(told(shown(entries, { policy, readers: { weather: lookup } }))).toEqual([
      "user: hi",
      "assistant: weather at 1 for run_1 -> look(a)",
      "tool a: 21",
    ]);
  });

  test("may take the place of one of ours", () => {
    const loud: Reader = { version: 1, read: ({ content }) => ({ type: "user", content: `${content}!` }) };
    expect(told(shown([user("hi")], { readers: { message: loud } }))).toEqual(["user: hi!"]);
  });

  test("is not asked when its kind is not included", () => {
    const never: Reader = {
      version: 1,
      read: () => {
        throw new Error("asked");
      },
    };
    expect(told(shown([user("hi"), weather(21)], { readers: { weather: never } }))).toEqual(["user: hi"]);
  });

  test("that is missing is an error at once, whether there are such entries or not", () => {
    for (const kind of ["weather", "constructor", "__proto__"]) {
      const refusal = refusalOf(() => shown([user("hi")], { policy: { includeKinds: ["message", kind] } }));
      expect(refusal).toMatchObject({ code: "no_reader", kind });
    }
    expect(refusalOf(() => shown([], { policy })).message).toContain('readers: { "weather": { version: 1, read } }');
  });
});

describe("versions", () => {
  const readers = {
    weather: {
      ...sunny,
      version: 3,
      upcast: ({ celsius }: { celsius?: unknown }, from: number) => ({ celsius: `${celsius} (v${from})` }),
    } as Reader,
  };

  test("below the reader's are brought up to it, the same is read as it is", () => {
    const lines = told(shown([weather(1), weather(2, 2), weather(3, 3)], { policy, readers }));
    expect(lines).toEqual(["user: It is 1 (v1) degrees.", "user: It is 2 (v2) degrees.", "user: It is 3 degrees."]);
  });

  test("without an upcast are read as they are", () => {
    const asIs = { weather: { ...sunny, version: 2 } };
    expect(told(shown([weather(1)], { policy, readers: asIs }))).toEqual(["user: It is 1 degrees."]);
  });

  test("above it are an error that says where", () => {
    expect(refusalOf(() => shown([user("hi"), weather(1, 4)], { policy, readers }))).toMatchObject({
      code: "entry_too_new",
      seq: 1,
      kind: "weather",
    });
    expect(refusalOf(() => shown([{ ...user("hi"), v: 2 }]))).toMatchObject({
      code: "entry_too_new",
      seq: 0,
      kind: "message",
    });
    const summary = { kind: "summary", v: 2, payload: { fromSeq: 0, toSeq: 0, content: "S" } };
    expect(refusalOf(() => shown([user("hi"), summary, user("so?")]))).toMatchObject({ code: "entry_too_new", seq: 1 });
  });
});

describe("an entry that cannot be read", () => {
  const bad = [
    ["without content", { kind: "message", payload: { role: "user" } }],
    ["with a part of no type", ai("user", [{ text: "hi" }])],
    ["with a part that is none", ai("user", [{ type: "text" }])],
    ["with a file of no data", ai("user", [{ type: "file", mediaType: "image/png", data: {} }])],
    ["with a call of no name", { kind: "tool_call", payload: { id: "a", arguments: {} } }],
    ["with calls that are no list", ai("assistant", "hi", { toolCalls: "look" })],
    ["without a result", { kind: "tool_result", payload: { toolCallId: "a", name: "look" } }],
    ["with thinking that is neither text nor parts", ai("assistant", "hi", { thinking: 4 })],
  ] as const;

  test.each(bad)("%s is an error when it is shown", (_, entry) => {
    expect(refusalOf(() => shown([user("hi"), entry]))).toMatchObject({
      code: "entry_unreadable",
      seq: 1,
      kind: entry.kind,
    });
  });

  test("because its reader threw is the same error, with the cause and without its words", () => {
    const cause = new Error("no such secret");
    const readers = {
      weather: {
        version: 1,
        read: () => {
          throw cause;
        },
      },
    };
    const refusal = refusalOf(() => shown([weather(1)], { policy, readers }));
    expect(refusal).toMatchObject({ code: "entry_unreadable", seq: 0, cause });
    expect(refusal.message).not.toContain("secret");
  });

  test("for its role has a code of its own", () => {
    for (const role of ["developer", "", 4]) {
      const entry = { kind: "message", payload: { role, content: "hi" } };
      expect(refusalOf(() => shown([user("hi"), entry]))).toMatchObject({ code: "unknown_role", seq: 1 });
    }
  });

  test("does not matter when it is not shown", () => {
    const broken = { kind: "message", payload: { role: "user", content: 4 } };
    const cut: ContextPolicyInput = { maxTurns: 1, window: { mode: "sliding" } };
    expect(told(shown([user("old"), broken, user("hi"), assistant("hello")], { policy: cut }))).toEqual([
      "user: hi",
      "assistant: hello",
    ]);
    const summarised = [
      broken,
      note(),
      { kind: "summary", payload: { fromSeq: 0, toSeq: 1, content: "S" } },
      user("hi"),
    ];
    expect(told(shown(summarised)).at(-1)).toBe("user: hi");
    const side = { ...broken, payload: { ...broken.payload, contextRef: "side" } };
    expect(told(shown([side, user("hi")]))).toEqual(["user: hi"]);
    expect(refusalOf(() => project({ thread: given(side), lane: "side" })).code).toBe("entry_unreadable");
  });
});
