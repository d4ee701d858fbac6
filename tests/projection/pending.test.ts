import {
  ContextPolicy,
  createProjector,
  type EntryInput,
  explain,
  type Message,
  memoryStore,
  project,
  projectFromStore,
  type Thread,
} from "heddle";
import type { PendingItem } from "heddle/core";
import { assistant, inLane, note, summary, switchTo, toolCall, toolResult, user } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { ai, given, refusalOf, told } from "./given.ts";

/** Pending, and then committed as an agent would: the same messages either way. */
function expectAlike(
  thread: Thread,
  pending: PendingItem | readonly PendingItem[],
  committed: readonly EntryInput[],
): void {
  const before = project({ thread, pending });
  const after = project({ thread: thread.append(committed) });
  expect(before.messages).toEqual(after.messages);
  expect(before.meta.fingerprint).toBe(after.meta.fingerprint);
  expect(before.meta.estimatedTokens).toBe(after.meta.estimatedTokens);
  expect(before.meta.view.startSeq).toBe(after.meta.view.startSeq);
}

const thread = given(user("hi"), assistant("hello"));

describe("what is pending", () => {
  test("may be a text, a message, an entry, or a list of them", () => {
    const message: Message = { role: "user", content: [{ type: "text", text: "so?" }] };
    expectAlike(thread, "so?", [user("so?")]);
    expectAlike(thread, message, [ai("user", [{ type: "text", text: "so?" }])]);
    expectAlike(thread, user("so?"), [user("so?")]);
    expectAlike(thread, ["so?", user("well?")], [user("so?"), user("well?")]);
    expectAlike(thread, [], []);
  });

  test("comes at the end in a segment of its own, and names no entry", () => {
    const { provenance, meta, messages } = project({ thread, pending: ["so?", "well?"] });
    expect(provenance.map(({ segment, seqs }) => [segment, seqs])).toEqual([
      ["history", [0]],
      ["history", [1]],
      ["pending", []],
      ["pending", []],
    ]);
    expect(meta).toMatchObject({
      pendingCount: 2,
      basisRev: 2,
      basisLastSeq: 1,
      entriesTotal: 2,
      entriesIncluded: 2,
      open: true,
    });
    expect(meta.budget.pending).toBe((provenance[2]?.tokens ?? 0) + (provenance[3]?.tokens ?? 0));
    expect(messages).toHaveLength(4);
  });

  test("as a result joins its call", () => {
    const called = given(
      user("go"),
      toolCall("a", "look", {}),
      toolCall("b", "look", {}),
      toolResult("b", "look", "B"),
    );
    const result = toolResult("a", "look", "A");
    expectAlike(called, result, [result]);
    expectAlike(called, { role: "tool", toolCallId: "a", name: "look", content: "A" }, [result]);
    expect(told(project({ thread: called, pending: result }))).toEqual([
      "user: go",
      "assistant: -> look(a), look(b)",
      "tool a: A",
      "tool b: B",
    ]);
    expect(project({ thread: called, pending: result }).meta.repaired.calls).toEqual([]);
  });

  test.each<[string, PendingItem, RegExp]>([
    ["a blank text", "   ", /pending\[1\] .*blank/],
    ["an empty text", "", /pending\[1\] .*blank/],
    ["a message of no parts", { role: "user", content: [] }, /pending\[1\] .*blank/],
    ["an answer of no words", assistant(" "), /pending\[1\] .*blank/],
    ["a kind that is not included", note({ text: "hi" }), /pending\[1\] .*kind "note".*includeKinds/],
    ["a result that nobody asked for", toolResult("x", "look", "A"), /pending\[1\] .*no call/],
    ["a message of the same", { role: "tool", toolCallId: "x", name: "look", content: "A" }, /pending\[1\] .*no call/],
  ])("is refused when it would show nothing: %s", (_, item, message) => {
    for (const call of [project, explain]) {
      const refusal = refusalOf(() => call({ thread, pending: ["so?", item] }));
      expect(refusal.code).toBe("invalid_input");
      expect(refusal.message).toMatch(message);
    }
  });

  test("is refused when its reader has nothing to say of it", () => {
    const policy = { includeKinds: [...ContextPolicy.create().includeKinds, "note"] };
    const readers = { note: { version: 1, read: () => undefined } };
    const refusal = refusalOf(() => project({ thread, policy, readers, pending: note() }));
    expect(refusal).toMatchObject({ code: "invalid_input", message: expect.stringMatching(/pending\[0\] .*reader/) });
  });

  test("as a second result is refused, and what was refused leaves no trace", () => {
    const projector = createProjector();
    const called = given(user("go"), toolCall("a", "look", {}));
    const results = [toolResult("a", "look", "A"), toolResult("a", "look", "B")];
    const before = projector.project({ thread: called });
    const refusal = refusalOf(() => projector.project({ thread: called, pending: results }));
    expect(refusal.message).toContain("pending[1]");
    expect(projector.project({ thread: called })).toEqual(before);
    expect(projector.project({ thread: called.append(results) })).toEqual(project({ thread: called.append(results) }));
  });

  test("as a result for a call before a loaded tail asks for more of the thread first", async () => {
    const store = memoryStore();
    await store.append("t", [toolCall("a", "look", {}), ...Array.from({ length: 30 }, (_, n) => user(`ask ${n}`))]);
    const tail = (await store.load("t", { last: 3 })) ?? expect.fail("it was stored");
    const policy = { maxTurns: 1 };
    for (const id of ["a", "x"]) {
      const pending = [toolResult(id, "look", "A"), user("so?")];
      expect(refusalOf(() => project({ thread: tail, policy, pending })).code).toBe("tail_too_short");
    }
    const late = await projectFromStore(store, "t", { policy, pending: [toolResult("a", "look", "A"), user("so?")] });
    expect(told(late).at(-1)).toBe("user: so?");
    await expect(projectFromStore(store, "t", { policy, pending: toolResult("x", "look", "A") })).rejects.toMatchObject(
      {
        code: "invalid_input",
      },
    );
  });

  test("as a call that has no result yet is completed too, and is none of the thread's", () => {
    const { meta } = project({ thread, pending: toolCall("a", "look", {}) });
    expect(told(project({ thread, pending: toolCall("a", "look", {}) })).at(-1)).toContain("interrupted");
    expect(meta.repaired.calls).toEqual([]);
  });

  test("weighs on the grid as it will when it is committed", () => {
    const policy = { maxInputTokens: 300, reserveOutputTokens: 0, window: { mode: "stable", step: 1 } } as const;
    const steps = Array.from({ length: 30 }, (_, n) => user(`step ${n} ${"x".repeat(n * 5)}`));
    for (let count = 1; count < steps.length; count++) {
      const before = given(...steps.slice(0, count));
      const rest = steps.slice(count);
      const asked = project({ thread: before, policy, pending: rest });
      expect(asked.meta.view.startSeq).toBe(project({ thread: before.append(rest), policy }).meta.view.startSeq);
    }
  });

  test("opens a turn, or is a steer of the open one", () => {
    const refs = { requestId: "r1" };
    const running = given(
      user("go", { refs }),
      toolCall("a", "look", {}, { refs }),
      toolResult("a", "look", "A", { refs }),
    );
    expectAlike(running, user("hurry", { refs }), [user("hurry", { refs })]);
  });

  test("belongs to the projected lane", () => {
    const side = given(user("hi"), switchTo("side"), user("here"));
    expectAlike(side, "so?", [user("so?")]);
    expect(told(project({ thread: side, lane: "default", pending: "so?" }))).toEqual(["user: hi", "user: so?"]);
    const refusal = refusalOf(() => project({ thread: side, pending: inLane("other", user("so?")) }));
    expect(refusal).toMatchObject({ code: "invalid_input" });
  });

  test("cannot be a summary, an operation, or a value of another type", () => {
    for (const pending of [summary(0, 1), switchTo("side")]) {
      expect(refusalOf(() => project({ thread, pending })).code).toBe("invalid_input");
    }
    expect(refusalOf(() => project({ thread, pending: 4 as unknown as string })).message).toContain("pending[0]");
  });

  test("that cannot be read is named by its place, and there is nothing to replace yet", () => {
    const bad = { role: "user", content: [{ type: "image" }] } as unknown as Message;
    const refusal = refusalOf(() => project({ thread, pending: ["so?", bad] }));
    expect(refusal).toMatchObject({ code: "entry_unreadable", kind: "message" });
    expect(refusal.message).toContain("pending[1]");
    expect(refusal.message).not.toContain("context operation");
  });

  test("leaves the thread as it was, and what was passed in too", () => {
    const pending = [user("so?")];
    const before = [JSON.stringify(thread), JSON.stringify(pending)];
    project({ thread, pending });
    expect([JSON.stringify(thread), JSON.stringify(pending)]).toEqual(before);
  });

  test("is all there is to an empty thread", () => {
    expectAlike(given(), "hi", [user("hi")]);
    expect(project({ thread: given(), pending: "hi" }).meta).toMatchObject({ basisLastSeq: -1, open: true });
  });
});
