import { beforeEach, describe, expect, test } from "vitest";
import { proveAll, type Stage, stage } from "../support/stage.ts";

const message = (content: string, role: string) => ({ id: content, kind: "message", payload: { role, content } });
const answers = (...texts: string[]) => ({ expect: { messages: texts.map((text) => ({ text })) }, text: "Ok." });

/** So small that a call needs only the end of the thread. */
const contextPolicy = { maxInputTokens: 6_000, reserveOutputTokens: 1_000 };

let on: Stage;
beforeEach(async () => {
  on = await stage();
});

describe("a branch of a server", () => {
  test("begins at an entry, and the model is shown what came before", async () => {
    await on.store.append(on.threadId, [
      message("One.", "user"),
      message("Two.", "assistant"),
      message("Three.", "user"),
    ]);
    const server = await on.start({ script: [answers("One.", "Two.", "Again.")], contextPolicy });
    const { lane, status } = await on.end(server.branch({ before: "Three.", lane: "second" }));
    expect([lane, status]).toEqual(["second", "applied"]);
    await on.end((await on.end(server.ask("Again."))).result);
    await proveAll(on.store, on.threadId);
  });

  test("has a new lane for each call, and is applied once under one opId", async () => {
    await on.store.append(on.threadId, [message("One.", "user"), message("Two.", "assistant")]);
    const server = await on.start({ script: [], contextPolicy });
    const first = await on.end(server.branch({ at: "One." }));
    const second = await on.end(server.branch({ at: "One.", lane: "own", opId: "b1" }));
    expect(new Set([first.lane, second.lane, "default"]).size).toBe(3);
    expect((await on.end(server.branch({ at: "One.", lane: "own", opId: "b1" }))).status).toBe("duplicate");
    const third = await on.end(server.branch({ at: "One.", opId: "b2" }));
    expect(await on.end(server.branch({ at: "One.", opId: "b2" }))).toMatchObject({
      status: "duplicate",
      lane: third.lane,
    });
  });

  test("begins at an entry far before those that are loaded", async () => {
    const words = Array.from({ length: 600 }, (_, n) => message(`Word ${n}.`, n % 2 ? "assistant" : "user"));
    await on.store.append(on.threadId, words);
    const server = await on.start({ script: [answers("Word 0.", "Word 1.", "And?")], contextPolicy });
    expect((await server.thread()).firstSeq).toBeGreaterThan(2);
    expect((await on.end(server.branch({ before: "Word 2." }))).status).toBe("applied");
    await on.end((await on.end(server.ask("And?"))).result);
    await proveAll(on.store, on.threadId);
  });

  test("is refused for an entry that the thread lacks, and from a position without entries", async () => {
    const elsewhere = { id: "x", kind: "message", payload: { role: "user", content: "Hm.", contextRef: "other" } };
    await on.store.append(on.threadId, [message("One.", "user"), elsewhere]);
    const server = await on.start({ script: [], contextPolicy });
    const unknown = { code: "context_op_entry_unknown" };
    await expect(on.end(server.branch({ at: "none" }))).rejects.toMatchObject(unknown);
    await expect(on.end(server.branch({ at: "One.", typo: 1 } as never))).rejects.toMatchObject({
      code: "invalid_options",
    });
    const operation = { type: "switch" as const, reason: "manual" as const, from: "other", atSeq: 0 };
    const empty = server.modifyContext({ contextRef: "new", operation });
    await expect(on.end(empty)).rejects.toMatchObject({ code: "context_op_position_unknown" });
    expect((await on.store.load(on.threadId))?.rev).toBe(2);
  });
});
