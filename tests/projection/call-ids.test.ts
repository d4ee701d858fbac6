import { type Projection, project } from "heddle";
import { summary, toolCall, toolResult, user } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { ai, given, shown } from "./given.ts";

/** The ids of calls and of results, as they are shown. */
function idsIn({ messages }: Projection): { readonly calls: readonly string[]; readonly results: readonly string[] } {
  return {
    calls: messages
      .flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []))
      .map(({ id }) => id),
    results: messages.flatMap((message) => (message.role === "tool" ? [message.toolCallId] : [])),
  };
}

const VALID = /^[A-Za-z0-9_-]{1,40}$/;
const round = (id: string, said: string) => [toolCall(id, "look", {}), toolResult(id, "look", said)];

describe("ids of calls", () => {
  test("that servers count from 0 in each answer become new ones from the second on", () => {
    const projection = shown([user("go"), ...round("call_0", "A"), ...round("call_0", "B"), ...round("call_0", "C")]);
    const { calls, results } = idsIn(projection);
    expect(calls[0]).toBe("call_0");
    expect(new Set(calls).size).toBe(3);
    expect(calls.every((id) => VALID.test(id))).toBe(true);
    expect(results).toEqual(calls);
    expect(projection.messages.flatMap((message) => (message.role === "tool" ? [message.content] : []))).toEqual([
      "A",
      "B",
      "C",
    ]);
  });

  test("are all new in an answer that repeats one, and stay the same from projection to projection", () => {
    const thread = given(
      user("go"),
      ...round("call_0", "A"),
      ai("assistant", "", {
        toolCalls: [
          { id: "call_1", name: "look", arguments: {} },
          { id: "call_0", name: "look", arguments: {} },
        ],
      }),
    );
    const [kept, ...made] = idsIn(project({ thread })).calls;
    expect(kept).toBe("call_0");
    expect(made.every((id) => /^hd_[\w-]{22,37}$/.test(id))).toBe(true);
    expect(idsIn(project({ thread: thread.append(user("so?")) })).calls).toEqual([kept, ...made]);
  });

  test("are made from the entry too: a summary can cut one model call into two exchanges", () => {
    const refs = { callId: "m1" };
    const call = toolCall("a", "look", {}, { refs });
    const { calls } = idsIn(
      shown([user("go"), call, call, summary(0, 0), call], { policy: { summarization: "none" } }),
    );
    expect(calls).toHaveLength(3);
    expect(new Set(calls).size).toBe(3);
  });

  test.each([["a b"], ["ünique"], ["x".repeat(41)], ["functions.look:0"]])("become valid: %s", (id) => {
    const { calls, results } = idsIn(shown([user("go"), ...round(id, "A")]));
    expect(calls).toHaveLength(1);
    expect(calls[0]).toMatch(VALID);
    expect(results).toEqual(calls);
  });

  test("are given to calls that have none, and their results are known by the name of the tool", () => {
    const projection = shown([
      user("go"),
      { kind: "tool_call", payload: { name: "look", arguments: {} } },
      { kind: "tool_call", payload: { name: "ask", arguments: {} } },
      { kind: "tool_result", payload: { name: "ask", result: "B" } },
      { kind: "tool_result", payload: { name: "look", result: "A" } },
    ]);
    const { calls, results } = idsIn(projection);
    expect(new Set(calls).size).toBe(2);
    expect(results).toEqual(calls);
    expect(projection.messages.slice(-2)).toMatchObject([
      { name: "look", content: "A" },
      { name: "ask", content: "B" },
    ]);
  });

  test("that stand twice in one answer become two", () => {
    const { calls, results } = idsIn(
      shown([
        user("go"),
        toolCall("a", "look", {}),
        toolCall("a", "look", {}),
        toolResult("a", "look", "A"),
        toolResult("a", "look", "B"),
      ]),
    );
    expect(new Set(calls).size).toBe(2);
    expect(results).toEqual(calls);
  });

  test("may come from the refs", () => {
    const of = (toolCallId: string) => ({ refs: { toolCallId } });
    const call = (id: string) => ({ kind: "tool_call", payload: { name: "look", arguments: {} }, ...of(id) });
    const result = (id: string) => ({ kind: "tool_result", payload: { name: "look", result: `of ${id}` }, ...of(id) });
    const projection = shown([user("go"), call("a"), call("b"), result("b"), result("a")]);
    expect(idsIn(projection)).toEqual({ calls: ["a", "b"], results: ["a", "b"] });
    expect(projection.messages.slice(2).map(({ content }) => content)).toEqual(["of a", "of b"]);
  });

  test("are its own again when the answer that had it first is no longer shown", () => {
    const entries = [...round("call_0", "A".repeat(4000)), ...round("call_0", "B")];
    const whole = idsIn(shown([user("go"), ...entries])).calls;
    const cut = shown([user("go"), ...entries], { policy: { maxInputTokens: 500, reserveOutputTokens: 0 } });
    expect(whole[1]).not.toBe("call_0");
    expect(idsIn(cut).calls).toEqual(["call_0"]);
  });

  test("are new in the places among the parts, too", () => {
    const parts = [
      { type: "text", text: "Look:" },
      { type: "tool_call", id: "a b" },
      { type: "text", text: "and see." },
    ];
    const { messages } = shown([
      user("go"),
      ai("assistant", parts, { toolCalls: [{ id: "a b", name: "look", arguments: {} }] }),
    ]);
    const answer = messages[1];
    const id = answer?.role === "assistant" ? answer.toolCalls?.[0]?.id : undefined;
    expect(id).toMatch(VALID);
    expect(answer?.content).toEqual([
      { type: "text", text: "Look:" },
      { type: "tool_call", id },
      { type: "text", text: "and see." },
    ]);
  });
});

describe("a result with a reused id", () => {
  test("answers the newest call that waits for it", () => {
    const { messages } = shown([
      user("go"),
      toolCall("a", "look", {}),
      user("again"),
      toolCall("a", "look", {}),
      toolResult("a", "look", "late"),
    ]);
    expect(messages.map(({ role, content }) => `${role} ${String(content).slice(0, 9)}`)).toEqual([
      "user go",
      "assistant ",
      'tool {"error":',
      "user again",
      "assistant ",
      "tool late",
    ]);
  });

  test("answers the call of its own model call, however old that is", () => {
    const [first, second] = [{ refs: { callId: "m1" } }, { refs: { callId: "m2" } }];
    const { messages } = shown([
      user("go"),
      toolCall("a", "look", {}, first),
      toolCall("a", "look", {}, second),
      toolResult("a", "look", "of the first", first),
      toolResult("a", "look", "of the second", second),
    ]);
    expect(messages.flatMap((message) => (message.role === "tool" ? [message.content] : []))).toEqual([
      "of the first",
      "of the second",
    ]);
  });
});

describe("names of tools", () => {
  test.each([
    ["web.search", "web_search"],
    ["größe", "gr__e"],
    ["", "tool"],
    ["x".repeat(70), "x".repeat(64)],
  ])("are shown as every provider takes them: %s", (name, expected) => {
    const { messages } = shown([user("go"), toolCall("a", name, {}), toolResult("a", name, "A")]);
    expect(messages[1]).toMatchObject({ toolCalls: [{ name: expected }] });
    expect(messages[2]).toMatchObject({ name: expected });
  });

  test("are those of the call in its result", () => {
    expect(shown([user("go"), toolCall("a", "look", {}), toolResult("a", "gaze", "A")]).messages[2]).toMatchObject({
      name: "look",
    });
  });
});
