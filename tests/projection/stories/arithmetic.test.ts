import { type EntryInput, project, Thread } from "heddle";
import { assistant, toolCall, toolResult, user } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { ai, told } from "../given.ts";

type Story = Readonly<Record<"first" | "answer" | "second" | "call" | "result" | "last", EntryInput>>;

const conversation: Story = {
  first: user("What's 2+2?"),
  answer: assistant("4"),
  second: user("Now multiply by 3"),
  call: toolCall("c1", "calculator", { left: 4, by: 3 }),
  result: toolResult("c1", "calculator", { ok: true, value: 12 }),
  last: assistant("The result is 12"),
};

const calculator = { id: "c1", name: "calculator", arguments: { left: 4, by: 3 } };
const agent: Story = {
  first: ai("user", "What's 2+2?"),
  answer: ai("assistant", "4"),
  second: ai("user", "Now multiply by 3"),
  call: ai("assistant", "", { toolCalls: [calculator] }),
  result: ai("tool", "12", { toolCallId: "c1", name: "calculator" }),
  last: ai("assistant", "The result is 12"),
};

const mixed: Story = { ...conversation, call: agent.call, result: conversation.result, last: agent.last };

describe.each([
  ["conversation kinds", conversation],
  ["AI kinds", agent],
  ["both mixed", mixed],
])("in the vocabulary of %s", (_, { first, answer, second, call, result, last }) => {
  const system = "You are a calculator.";

  test('"What\'s 2+2?" -> "4" -> "Now multiply by 3" -> calculator -> "The result is 12": three model calls are shown 2, 4 and 6 messages, and the thread ends with six entries.', () => {
    const asked = Thread.create().append(first);
    const askedAgain = asked.append(answer).append(second);
    const calculated = askedAgain.append([call, result]);
    const calls = [asked, askedAgain, calculated].map((thread) => project({ thread, system }));
    expect(calls.map(({ messages }) => messages.length)).toEqual([2, 4, 6]);
    expect(calls.map(({ meta }) => meta.open)).toEqual([true, true, true]);
    expect(calls.map(told).at(-1)).toEqual([
      "system: You are a calculator.",
      "user: What's 2+2?",
      "assistant: 4",
      "user: Now multiply by 3",
      "assistant: -> calculator(c1)",
      "tool c1: 12",
    ]);
    expect(calculated.append(last).entryCount).toBe(6);
  });

  test("each call extends the context of the call before it", () => {
    const threads = [[first], [first, answer, second], [first, answer, second, call, result]].map((entries) =>
      Thread.create().append(entries),
    );
    let previous = project({ thread: Thread.create(), system });
    const kept = threads.map((thread) => {
      const next = project({ thread, system, previous });
      const { stablePrefix } = next.meta;
      const before = previous.messages.length;
      previous = next;
      return { stablePrefix, before };
    });
    expect(kept.every(({ stablePrefix, before }) => stablePrefix === before)).toBe(true);
  });

  test("an ask that is not committed yet gives the very messages it will give", () => {
    const thread = Thread.create().append([first, answer]);
    const before = project({ thread, system, pending: "Now multiply by 3" });
    const after = project({ thread: thread.append(second), system });
    expect(before.messages).toEqual(after.messages);
    expect(before.meta.fingerprint).toBe(after.meta.fingerprint);
  });
});
