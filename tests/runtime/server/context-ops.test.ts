import { ContextOpError, type ContextOperation } from "heddle";
import { describe, expect, test } from "vitest";
import { anything, failureOf, proveAll, type Stage, stage, told } from "../support/stage.ts";

type Given = Partial<ContextOperation> & Pick<ContextOperation, "operation">;

const replaceBy = (content: string, opId?: string): Given => ({
  ...(opId !== undefined && { opId }),
  operation: { type: "replace", reason: "manual", resultContext: { id: "ctx", entries: [{ role: "user", content }] } },
});
const operations = async (on: Stage) =>
  (await on.log()).filter(({ kind }) => kind === "ai_context_operation").map(({ payload }) => payload["opId"]);
const sees = (...texts: string[]) => ({ expect: { messages: texts.map((text) => ({ text })) }, text: "Ok." });

describe("an operation while nothing runs", () => {
  test("is applied at once: reset makes the model forget, and the thread keeps everything", async () => {
    const on = await stage();
    const server = await on.start({ script: ["One.", sees("Two?")] });
    await on.end((await on.end(server.ask("One?"))).result);
    const { status, settled } = await on.end(server.reset());
    expect([status, await on.end(settled)]).toEqual(["applied", { status: "applied" }]);
    await on.end((await on.end(server.ask("Two?"))).result);
    expect((await server.thread()).entryCount).toBe(5);
    await proveAll(on.store, on.threadId);
  });

  test("is applied once, however often it is tried, after hundreds of others and after restarts", async () => {
    const on = await stage();
    const server = await on.start({ script: ["Yes."] });
    expect((await on.end(server.modifyContext(replaceBy("A", "op_a")))).status).toBe("applied");
    for (let index = 0; index < 300; index++)
      await on.end(server.modifyContext(replaceBy(`${index}`, `other_${index}`)));
    expect((await on.end(server.modifyContext(replaceBy("A", "op_a")))).status).toBe("duplicate");
    await on.end((await on.end(server.ask("There?"))).result);
    await on.end(server.stop());
    const again = await on.start({ script: [sees("299", "There?", "Yes.", "Hello.")] });
    expect((await again.thread()).firstSeq).toBeGreaterThan(0);
    const retried = await on.end(again.modifyContext(replaceBy("A", "op_a")));
    expect([retried.status, await on.end(retried.settled)]).toEqual(["duplicate", { status: "applied" }]);
    await expect(on.end(again.modifyContext(replaceBy("B", "op_a")))).rejects.toMatchObject({
      code: "context_op_id_reused",
    });
    await expect(on.end(again.modifyContext(replaceBy("B", "other_299")))).rejects.toMatchObject({
      code: "context_op_id_reused",
    });
    expect((await operations(on)).filter((id) => id === "op_a")).toHaveLength(1);
    await on.end((await on.end(again.ask("Hello."))).result);
    await proveAll(on.store, on.threadId);
  });

  test("that is malformed is a typed error, and nothing is written", async () => {
    const on = await stage();
    const server = await on.start({ script: [] });
    const trouble = await on
      .end(server.modifyContext({ operation: { type: "replace", reason: "manual" } } as never))
      .catch((error) => error);
    expect(ContextOpError.isInstance(trouble)).toBe(true);
    expect(await on.log()).toEqual([]);
  });
});

describe("an operation while a request runs", () => {
  test.each([
    ["completed", [{ text: "One.", delayMs: 50 }], undefined],
    ["failed", [{ error: { status: 400 }, delayMs: 50 }], undefined],
    ["cancelled", [{ hang: true }], "cancel"],
  ])("waits until it has %s, and all are applied in order", async (_how, first, cancel) => {
    const on = await stage();
    const server = await on.start({ script: [...first, sees("C", "Two?")] as never });
    const request = await on.end(server.ask("One?"));
    const a = await on.end(server.modifyContext(replaceBy("A", "a")));
    const b = await on.end(server.modifyContext(replaceBy("B", "b")));
    const twice = await on.end(server.modifyContext(replaceBy("B", "b")));
    await expect(on.end(server.modifyContext(replaceBy("X", "b")))).rejects.toMatchObject({
      code: "context_op_id_reused",
    });
    const c = await on.end(server.modifyContext(replaceBy("C", "c")));
    expect([a, b, twice, c].map(({ status }) => status)).toEqual(["deferred", "deferred", "duplicate", "deferred"]);
    expect(await operations(on)).toEqual([]);
    if (cancel !== undefined) await on.end(server.cancel());
    await on.end(request.result.catch(() => undefined));
    expect(await on.end(Promise.all([a, b, twice, c].map(({ settled }) => settled)))).toEqual([
      { status: "applied" },
      { status: "applied" },
      { status: "applied" },
      { status: "applied" },
    ]);
    expect(await operations(on)).toEqual(["a", "b", "c"]);
    await on.end((await on.end(server.ask("Two?"))).result);
    await proveAll(on.store, on.threadId);
  });

  test("survives the end of the process, and is applied when the request has ended in the next", async () => {
    const on = await stage();
    const first = await on.start({ script: [{ hang: true }] });
    await on.end(first.ask("One?"));
    const op = await on.end(first.modifyContext(replaceBy("C", "c")));
    await on.end(first.stop({ graceMs: 0 }));
    expect(await on.end(op.settled)).toMatchObject({ status: "failed", error: { code: "server_stopped" } });
    const second = await on.start({ script: [{ text: "One.", delayMs: 50 }, sees("C", "Two?")] });
    expect(await operations(on)).toEqual([]);
    expect((await on.end(second.modifyContext(replaceBy("C", "c")))).status).toBe("duplicate");
    await on.end(second.request?.result ?? Promise.reject(new Error("none")));
    await on.settled();
    expect(await operations(on)).toEqual(["c"]);
    await on.end((await on.end(second.ask("Two?"))).result);
    await on.end(second.stop());
    await on.start({ script: [] });
    expect(await operations(on)).toEqual(["c"]);
  });

  test("that waits for approval waits too", async () => {
    const on = await stage();
    const pay = { inputSchema: anything, needsApproval: true, execute: () => "paid" };
    const server = await on.start({ script: [{ calls: [{ name: "pay" }] }, "Paid.", sees("Two?")], tools: { pay } });
    const request = await on.end(server.ask("Pay."));
    await on.settled();
    expect((await on.end(server.reset())).status).toBe("deferred");
    await on.end(server.approve("call_1"));
    expect((await on.end(request.result)).text).toBe("Paid.");
    await on.end((await on.end(server.ask("Two?"))).result);
    await proveAll(on.store, on.threadId);
  });

  test("is emitted before the end of the request, and committed with it", async () => {
    const on = await stage();
    const server = await on.start({ script: [{ text: "One.", delayMs: 50 }] });
    const request = await on.end(server.ask("One?"));
    await on.end(server.modifyContext(replaceBy("A", "a")));
    await on.end(request.result);
    const kinds: string[] = [];
    for await (const { kind } of request.events()) kinds.push(kind);
    expect(kinds.slice(-2)).toEqual(["context_op_applied", "request_completed"]);
    expect((await on.log()).map(({ kind }) => kind)).toEqual(["ai_message", "ai_message", "ai_context_operation"]);
  });

  test.each(["context_op_applied", "request_completed"])(
    "is applied when a listener stops the server at %s",
    async (moment) => {
      const on = await stage();
      const server = await on.start({ script: [{ text: "One.", delayMs: 50 }] });
      const request = await on.end(server.ask("One?"));
      const { settled } = await on.end(server.modifyContext(replaceBy("A", "a")));
      const stopped = (async () => {
        for await (const { kind } of request.events()) if (kind === moment) await server.stop({ graceMs: 0 });
      })();
      await on.end(stopped);
      expect(await settled).toEqual({ status: "applied" });
      expect(await operations(on)).toEqual(["a"]);
    },
  );

  test("that the log has had for long costs neither the request its end nor one that waits its turn", async () => {
    const on = await stage();
    const first = await on.start({ script: [] });
    await on.end(first.modifyContext(replaceBy("A", "a")));
    for (let index = 0; index < 300; index++) await on.end(first.modifyContext(replaceBy(`${index}`)));
    await on.end(first.stop());
    const server = await on.start({ script: [{ text: "One.", delayMs: 50 }] });
    expect((await server.thread()).firstSeq).toBeGreaterThan(0);
    const request = await on.end(server.ask("Again?"));
    const waiting = await on.end(server.modifyContext(replaceBy("W", "w")));
    expect(waiting.status).toBe("deferred");
    const again = await on.end(server.modifyContext(replaceBy("A", "a")));
    expect([again.status, await on.end(again.settled)]).toEqual(["duplicate", { status: "applied" }]);
    const other = await on.end(server.modifyContext(replaceBy("B", "a")).catch((error: unknown) => error));
    expect(other).toMatchObject({ code: "context_op_id_reused" });
    expect((await on.end(request.result)).terminationReason).toBe("final_answer");
    expect(await on.end(waiting.settled)).toEqual({ status: "applied" });
    expect((await operations(on)).at(-1)).toBe("w");
    expect((await operations(on)).filter((id) => id === "a")).toHaveLength(1);
  });

  test("is in effect for an ask that is put right after the result", async () => {
    const on = await stage();
    const server = await on.start({ script: [{ text: "One.", delayMs: 50 }, sees("Two?")] });
    const request = await on.end(server.ask("One?"));
    await on.end(server.reset());
    const next = request.result.then(() => server.ask("Two?"));
    expect((await on.end((await on.end(next)).result)).text).toBe("Ok.");
  });
});

describe("lanes", () => {
  test("a compaction keeps what came after its edge", async () => {
    const on = await stage();
    const server = await on.start({ script: ["One.", "Two.", sees("Short.", "Two?", "Two.", "Three?")] });
    for (const text of ["One?", "Two?"]) await on.end((await on.end(server.ask(text))).result);
    const resultContext = { id: "ctx", entries: [{ role: "user" as const, content: "Short." }] };
    await on.end(
      server.modifyContext({ operation: { type: "replace", reason: "compaction", baseSeq: 1, resultContext } }),
    );
    await on.end((await on.end(server.ask("Three?"))).result);
    await proveAll(on.store, on.threadId);
  });

  test("a switch shows an empty lane, and back the old one; a branch begins at the given entry", async () => {
    const on = await stage();
    const script = ["One.", sees("Two?"), sees("One?", "One.", "Three?"), sees("One?", "One.", "Four?")];
    const server = await on.start({ script });
    const ask = async (text: string) => on.end((await on.end(server.ask(text))).result);
    const turnTo = (contextRef: string, more = {}) =>
      on.end(server.modifyContext({ contextRef, operation: { type: "switch", reason: "manual", ...more } }));
    await ask("One?");
    await turnTo("side");
    await ask("Two?");
    await turnTo("default");
    await ask("Three?");
    await turnTo("branch", { from: "default", atSeq: 1 });
    await ask("Four?");
    expect(told(await on.log()).filter((line) => line.startsWith("ask"))).toHaveLength(4);
    await proveAll(on.store, on.threadId);
  });
});

test("an operation that cannot be applied any more when the process starts again is dropped with a warning", async () => {
  const on = await stage();
  const first = await on.start({ script: [] });
  await on.end(first.modifyContext(replaceBy("A", "a")));
  await on.end(first.stop());
  const operation = { contextRef: "default", operation: replaceBy("B").operation };
  await on.store.post(on.threadId, {
    id: "b",
    type: "context_op",
    operation: { ...operation, contextRef: "" },
  } as never);
  const second = await on.start({ script: ["Hi."] });
  expect(on.warnings.join()).toContain("cannot be applied");
  await on.end(second.stop());
  const third = await on.start({ script: ["Hi."] });
  expect(on.warnings).toHaveLength(1);
  expect((await failureOf(third.ask(" "))).code).toBe("empty_ask");
});

test("an operation that 0.1 kept and that is malformed is dropped with a warning", async () => {
  const on = await stage();
  const first = await on.start({ script: [{ hang: true }] });
  await on.end(first.ask("Go."));
  await on.end(first.stop({ graceMs: 0 }));
  for (const [index, operation] of [{ opId: "a/b" }, "nonsense"].entries()) {
    await on.store.putCheckpoint(`context_op:${on.threadId}`, operation);
    const later = await on.start({ script: [{ hang: true }] });
    expect(on.warnings.filter((text) => text.includes("version 0.1"))).toHaveLength(index + 1);
    expect(await on.store.getCheckpoint(`context_op:${on.threadId}`)).toBeUndefined();
    await on.end(later.stop({ graceMs: 0 }));
  }
});
