import { beforeEach, describe, expect, test } from "vitest";
import { proveAll, type Stage, stage } from "../support/stage.ts";

const message = (content: string, lane: string, role = "user") => ({
  kind: "message",
  payload: { role, content, contextRef: lane },
});
const switchTo = (
  contextRef: string,
  opId: string,
  branch: { readonly from?: string; readonly atSeq?: number } = {},
) => ({
  opId,
  contextRef,
  operation: { type: "switch" as const, reason: "manual" as const, ...branch },
});
const sees = (...texts: string[]) => ({ expect: { messages: texts.map((text) => ({ text })) }, text: "Ok." });

/** So small that a call needs only the end of the thread. */
const contextPolicy = { maxInputTokens: 6_000, reserveOutputTokens: 1_000 };

/** A thread whose first entries are on lanes that its last entries, those loaded at first, do not use. */
let on: Stage;
beforeEach(async () => {
  on = await stage();
  const filler = Array.from({ length: 3_000 }, (_, n) =>
    message(`Word ${n}.`, "default", n % 2 ? "assistant" : "user"),
  );
  await on.store.append(on.threadId, [message("Old.", "old"), message("Older.", "other"), ...filler]);
});

describe("a server that has loaded the end of a long thread", () => {
  test("switches to a lane that it has not loaded, and the model is shown that lane", async () => {
    const server = await on.start({ script: [sees("Old.", "Still there?")], contextPolicy });
    expect(Object.keys((await server.thread()).base?.lanes ?? {})).toEqual(["default"]);
    expect((await on.end(server.modifyContext(switchTo("old", "o1")))).status).toBe("applied");
    expect(Object.keys((await server.thread()).base?.lanes ?? {}).sort()).toEqual(["default", "old"]);
    await on.end((await on.end(server.ask("Still there?"))).result);
    await proveAll(on.store, on.threadId);
  });

  test("branches from a lane that it has not loaded", async () => {
    const server = await on.start({ script: [sees("Older.", "And now?")], contextPolicy });
    const operation = switchTo("new", "o1", { from: "other", atSeq: 1 });
    expect((await on.end(server.modifyContext(operation))).status).toBe("applied");
    await on.end((await on.end(server.ask("And now?"))).result);
    await proveAll(on.store, on.threadId);
    expect((await on.end(server.modifyContext(operation))).status).toBe("duplicate");
  });

  test("refuses a branch into a lane that exists before what it has loaded, and from one that does not", async () => {
    const server = await on.start({ script: [], contextPolicy });
    const into = server.modifyContext(switchTo("old", "o1", { from: "default", atSeq: 200 }));
    await expect(on.end(into)).rejects.toMatchObject({ code: "context_op_lane_exists" });
    const from = server.modifyContext(switchTo("new", "o2", { from: "none", atSeq: 200 }));
    await expect(on.end(from)).rejects.toMatchObject({ code: "context_op_lane_unknown" });
  });

  test("reads what another process has written on lanes that it has not loaded", async () => {
    const server = await on.start({ script: [sees("Old.", "From there.", "Here?")], contextPolicy });
    const { rev } = await on.store.append(on.threadId, [
      { kind: "ai_context_operation", payload: switchTo("branch", "o1", { from: "old", atSeq: 0 }) },
      message("From there.", "branch"),
    ]);
    expect(rev).toBe(3_004);
    await on.end((await on.end(server.ask("Here?"))).result);
    await proveAll(on.store, on.threadId);
  });
});
