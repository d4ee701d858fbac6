import { ContextPolicy, type ContextPolicyInput, project, type Reader, transcript } from "heddle";
import { assistant, note, summary, toolCall, user } from "heddle/testing";
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

  test("may make calls and results of it, gets its position, and may return nothing", () => {
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

describe("what a reader says", () => {
  const saying = (said: unknown) => ({ weather: { version: 1, read: () => said } as unknown as Reader });
  const cyclic: { self?: unknown } = {};
  cyclic.self = cyclic;

  test.each<[string, unknown]>([
    ["a text instead of a message", "It is warm."],
    ["no type", { content: "hi" }],
    ["no content", { type: "user", content: undefined }],
    ["content that is a number", { type: "user", content: 21 }],
    ["a part of no type", { type: "user", content: [{ text: "hi" }] }],
    [
      "a part with what JSON cannot hold",
      { type: "user", content: [{ type: "text", text: "hi", metadata: { x: 1n } }] },
    ],
    ["a part that refers to itself", { type: "user", content: [{ type: "text", text: "hi", metadata: cyclic }] }],
    ["parts as what the system says", { type: "system", content: [{ type: "text", text: "hi" }] }],
    ["no content of the model", { type: "assistant" }],
    ["calls that are no list", { type: "assistant", content: "", toolCalls: "look" }],
    ["a call without a name", { type: "assistant", content: "", toolCalls: [{ id: "a", arguments: {} }] }],
    ["a result that is no content", { type: "tool_result", toolCallId: "a", content: {} }],
    ["a result for a call by number", { type: "tool_result", toolCallId: 4, content: "ok" }],
    ["a result that failed perhaps", { type: "tool_result", toolCallId: "a", content: "ok", isError: "no" }],
  ])("is an unreadable entry when it is %s, and only where it is shown", (_, said) => {
    const readers = saying(said);
    const refusal = refusalOf(() => shown([toolCall("a", "look", {}), weather(1)], { policy, readers }));
    expect(refusal).toMatchObject({ code: "entry_unreadable", seq: 1, kind: "weather" });
    const entries = [weather(1), summary(0, 0, "S"), user("hi")];
    expect(told(shown(entries, { policy, readers })).at(-1)).toBe("user: hi");
    const thread = given(weather(1));
    expect(refusalOf(() => transcript(thread, { readers })).code).toBe("entry_unreadable");
  });

  test("stays the reader's own: it is copied, and may be changed afterwards", () => {
    const content = [{ type: "text", text: "warm" }];
    const toolCalls = [{ id: "a", name: "look", arguments: { at: ["sky"] } }];
    const projection = shown([weather(1)], { policy, readers: saying({ type: "assistant", content, toolCalls }) });
    for (const own of [content, ...content, toolCalls, ...toolCalls, toolCalls[0]?.arguments.at]) {
      expect(Object.isFrozen(own)).toBe(false);
    }
    for (const part of content) part.text = "cold";
    expect(told(projection)[1]).toBe("assistant: warm -> look(a)");
  });
});

describe("a part that is none of ours", () => {
  test.each(["tool-call", "tool-result", "image", "reasoning", "video"])(
    "of type %s: the error says what is",
    (type) => {
      const { message } = refusalOf(() => shown([ai("user", [{ type, text: "hi" }])]));
      expect(message).toContain("content[0].type");
      expect(message).toMatch(/text, thinking, file, .*tool_call/);
      expect(message).toContain("parts of the AI SDK");
    },
  );
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
    for (const role of ["critic", "", 4]) {
      const entry = { kind: "message", payload: { role, content: "hi" } };
      expect(refusalOf(() => shown([user("hi"), entry]))).toMatchObject({ code: "unknown_role", seq: 1 });
    }
  });

  test("as a summary is none, and leaves the one before it in its place", () => {
    for (const content of [undefined, null, 7, [{ type: "text", text: "S2" }]]) {
      const broken = { kind: "summary", payload: { fromSeq: 0, toSeq: 1, ...(content !== undefined && { content }) } };
      const lines = told(shown([user("one"), assistant("two"), summary(0, 1, "S1"), broken, user("three")]));
      expect(lines).toEqual(["system: Summary of earlier conversation:\nS1", "user: three"]);
    }
  });

  test("does not matter when it is not shown", () => {
    const broken = { kind: "message", payload: { role: "user", content: 4 } };
    const cut: ContextPolicyInput = { maxTurns: 1, window: { mode: "sliding" } };
    expect(told(shown([user("old"), broken, user("hi"), assistant("hello")], { policy: cut }))).toEqual([
      "user: hi",
      "assistant: hello",
    ]);
    const summarized = [
      broken,
      note(),
      { kind: "summary", payload: { fromSeq: 0, toSeq: 1, content: "S" } },
      user("hi"),
    ];
    expect(told(shown(summarized)).at(-1)).toBe("user: hi");
    const side = { ...broken, payload: { ...broken.payload, contextRef: "side" } };
    expect(told(shown([side, user("hi")]))).toEqual(["user: hi"]);
    expect(refusalOf(() => project({ thread: given(side), lane: "side" })).code).toBe("entry_unreadable");
  });
});
