import { entriesOfStep, openCalls, project, Thread } from "heddle";
import { describe, expect, test } from "vitest";

const model = "anthropic:claude-sonnet-4";
const ask = { kind: "message", payload: { role: "user", content: "What's 2+2?" } };
const answer = {
  role: "assistant",
  content: [
    { type: "thinking", thinking: "A sum.", signature: "c2ln" },
    { type: "tool_use", id: "c1", name: "add", input: { a: 2, b: 2 } },
  ],
};
const results = { role: "user", content: [{ type: "tool_result", tool_use_id: "c1", content: "4" }] };

describe("the entries of a step", () => {
  test("keep their thinking, because they say which model was shown what", () => {
    const asked = Thread.create().append(ask);
    const { fingerprint } = project({ thread: asked, model }).meta;
    const step = { callId: "call_1", format: "anthropic", model, fingerprint } as const;
    const called = asked.append(entriesOfStep([answer], step));
    const thread = called.append(entriesOfStep([results], step));
    expect(openCalls(called)).toMatchObject([{ id: "c1", callId: "call_1" }]);
    expect(openCalls(thread)).toEqual([]);
    const { messages, meta } = project({ thread, model });
    expect(meta.thinkingDropped).toEqual([]);
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
    expect(JSON.stringify(messages)).toContain("A sum.");
    const bare = Thread.create().append([ask, ...entriesOfStep([answer, results], { callId: "call_1" })]);
    expect(JSON.stringify(project({ thread: bare, model }).messages)).not.toContain("A sum.");
  });

  test("have the same ids each time: those of an answer and of its results do not meet", () => {
    const step = { callId: "call_1", format: "anthropic", requestId: "request_1", lane: "side" } as const;
    const together = entriesOfStep([answer, results], step);
    expect(together.map(({ id }) => id)).toEqual(["call_1:0", "call_1:result:c1"]);
    expect([...entriesOfStep([answer], step), ...entriesOfStep([results], step)].map(({ id }) => id)).toEqual(
      together.map(({ id }) => id),
    );
    for (const { payload, refs } of together) {
      expect(payload).toMatchObject({ contextRef: "side" });
      expect(refs).toMatchObject({ callId: "call_1", requestId: "request_1" });
    }
  });

  test("come back as the messages they were", () => {
    const list = [
      { role: "user", content: "What's 2+2?" },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "c1", type: "function", function: { name: "add", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "c1", content: "4" },
    ];
    const [first, ...step] = list;
    const options = { format: "openai-chat", callId: "m1", model: "openai:gpt-5", fingerprint: "f" } as const;
    const thread = Thread.fromMessages([first], { format: options.format });
    expect(thread.append(entriesOfStep(step, options)).toMessages({ format: "openai-chat" })).toEqual(list);
  });

  test("have ids that a thread takes, whatever the ids of the calls are", () => {
    const step = (id: string) =>
      entriesOfStep([{ role: "tool", tool_call_id: id, content: "4" }], { callId: "m", format: "openai-chat" });
    const ids = ["a/b", "a b", "x".repeat(5000), `${"x".repeat(4999)}y`];
    const thread = Thread.create().append(ids.flatMap(step)).append(ids.flatMap(step));
    expect(thread.entryCount).toBe(4);
  });

  test.each([
    ["without an id of the call", {}, "invalid_options"],
    ["with an unknown option", { callId: "m", color: 1 }, "invalid_options"],
  ])("are refused %s", (_, options, code) => {
    expect(() => entriesOfStep([answer], options as { callId: string })).toThrow(expect.objectContaining({ code }));
  });
});
