import { type EntryInput, project, Thread } from "heddle";
import { assistant, summary, user } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { told } from "../given.ts";

/** Messages by turns, the user's at odd seqs or at even ones. */
function conversation(first: "user" | "assistant", count = 100): EntryInput[] {
  const isUsers = (seq: number): boolean => (seq % 2 === 0) === (first === "user");
  return Array.from({ length: count }, (_, seq) => (isUsers(seq) ? user(`ask ${seq}`) : assistant(`answer ${seq}`)));
}

const system = "You are helpful.";
const told0to90 = summary(0, 90, "They spoke of weaving.");

describe("a summary over most of a conversation", () => {
  test("A hundred entries with a summary over 0 to 90, then one question: the model is shown the system prompt, the summary, 91 onward and the question.", () => {
    const thread = Thread.create().append([...conversation("assistant"), told0to90]);
    const expected = [
      "system: You are helpful.",
      "system: Summary of earlier conversation:\nThey spoke of weaving.",
      ...[91, 93, 95, 97, 99].flatMap((seq) => [`user: ask ${seq}`, `assistant: answer ${seq + 1}`]).slice(0, -1),
      "user: And now?",
    ];
    const pending = project({ thread, system, pending: "And now?" });
    const committed = project({ thread: thread.append(user("And now?")), system });
    for (const projection of [pending, committed]) expect(told(projection)).toEqual(expected);
    expect(committed.provenance.map(({ seqs }) => seqs)).toEqual([
      [],
      [100],
      ...[91, 92, 93, 94, 95, 96, 97, 98, 99].map((seq) => [seq]),
      [101],
    ]);
    expect(committed.meta).toMatchObject({ summaryUsed: true, truncated: false, open: true, entriesTotal: 102 });
    expect(committed.meta.repaired).toEqual({ calls: [], standIns: 0 });
  });

  test("where 91 is the model's, a short user message comes before it, and nothing else is added", () => {
    const thread = Thread.create().append([...conversation("user"), told0to90]);
    const projection = project({ thread, system, pending: "And now?" });
    expect(told(projection).slice(0, 4)).toEqual([
      "system: You are helpful.",
      "system: Summary of earlier conversation:\nThey spoke of weaving.",
      "user: (continued)",
      "assistant: answer 91",
    ]);
    expect(projection.messages).toHaveLength(2 + 1 + 9 + 1);
    expect(projection.meta.repaired.standIns).toBe(1);
  });
});
