import type { SteerAnswer } from "heddle";
import { describe, expect, test } from "vitest";
import { anything, eventsOf, expectWhole, failureOf, gate, proveAll, stage, told } from "../support/stage.ts";

const look = () => {
  const hold = gate<string>();
  return { hold, tools: { look: { inputSchema: anything, execute: () => hold.promise } } };
};
const looking = { calls: [{ name: "look" }] };

describe("what is steered", () => {
  test("is delivered before the next model call and never between a call and its result", async () => {
    const on = await stage();
    const { hold, tools } = look();
    const script = [
      looking,
      { expect: { endsWith: [{ role: "tool" }, { text: "Be brief." }, { text: "It rains." }] }, text: "Ok." },
    ];
    const server = await on.start({ script: script as never, tools });
    const request = await on.end(server.ask("Go."));
    await on.settled();
    const steer = await on.end(server.steer("  Be brief.  "));
    const inject = await on.end(server.inject("It rains.", { source: "weather" }));
    expect([steer.accepted, inject.accepted]).toEqual([true, true]);
    await on.settled();
    hold.resolve("seen");
    await on.end(request.result);
    expect(told(await on.log())).toEqual([
      "ask Go.",
      "calls call_1",
      "result call_1",
      "steer Be brief.",
      "inject It rains.",
      "says Ok. end:completed",
    ]);
    expect(await on.end(steer.receipt)).toEqual({ id: steer.id, delivered: true, seq: 3 });
    expect(await on.end(inject.receipt)).toEqual({ id: inject.id, delivered: true, seq: 4 });
    expect((await on.log())[4]?.payload).toMatchObject({ source: "weather" });
    const events = await eventsOf(request);
    expectWhole(events);
    expect(events.filter(({ kind }) => kind === "input_injected")).toHaveLength(2);
    await proveAll(on.store, on.threadId);
  });

  test("that cannot fit beside the ask is refused, and the request ends as it would without", async () => {
    const on = await stage();
    const { hold, tools } = look();
    const contextPolicy = { maxInputTokens: 4000, autoSummarize: true };
    const server = await on.start({ script: [looking, "Ok.", "Yes."], tools, contextPolicy });
    const request = await on.end(server.ask("Go."));
    await on.settled();
    const long = "x".repeat(20_000);
    const answers = [server.steer(long), server.followUp(long), server.inject(long, { source: "ci" })];
    for (const { accepted, reason, receipt } of await on.end(Promise.all(answers))) {
      expect([accepted, reason]).toEqual([false, "pending_overflow"]);
      expect(await on.end(receipt)).toMatchObject({ delivered: false, reason: "pending_overflow" });
    }
    expect(await server.pending()).toEqual([]);
    hold.resolve("seen");
    expect((await on.end(request.result)).text).toBe("Ok.");
    expect((await on.end(server.inject(long, { source: "ci" }))).reason).toBe("pending_overflow");
    const woken = await on.end(server.inject(long, { source: "ci", wake: true }));
    expect([woken.accepted, woken.reason]).toEqual([false, "pending_overflow"]);
    expect((await on.end((await on.end(server.ask("And now?"))).result)).text).toBe("Yes.");
  });

  test("again and again does not end a long request: older ones leave the window", async () => {
    const on = await stage();
    const round = { calls: [{ name: "say" }] };
    const script = [...Array.from({ length: 12 }, () => round), "Done."];
    let steer: ((n: number) => Promise<SteerAnswer>) | undefined;
    let count = 0;
    const say = { inputSchema: anything, execute: async () => `seen ${(await steer?.(count++))?.accepted}` };
    const contextPolicy = { maxInputTokens: 4000, autoSummarize: false };
    const server = await on.start({ script, tools: { say }, contextPolicy });
    steer = (n) => server.steer(`Log ${n}. ${"x".repeat(1500)}`);
    const { text, calls } = await on.end((await on.end(server.ask("Go."))).result);
    expect([text, calls.length]).toEqual(["Done.", 13]);
    expect(told(await on.log()).filter((line) => line.startsWith("steer"))).toHaveLength(12);
    await proveAll(on.store, on.threadId);
  });

  test("under an id that was delivered long ago is not delivered again, and under a new one it is", async () => {
    const on = await stage();
    const first = await on.start({ script: [{ text: "One.", delayMs: 50 }, "Two."] });
    const request = await on.end(first.ask("Go."));
    const once = await on.end(first.steer("Be brief.", { id: "brief" }));
    await on.end(request.result);
    const { seq } = (await on.end(once.receipt)) as { readonly seq: number };
    await on.end(first.stop());
    const said = (index: number) => ({
      kind: "message",
      payload: { role: index % 2 === 0 ? "user" : "assistant", content: "And on it goes. ".repeat(60) },
    });
    await on.store.append(
      on.threadId,
      Array.from({ length: 1_000 }, (_, index) => said(index)),
    );
    const second = await on.start({ script: [{ text: "Three.", delayMs: 50 }, "Four."] });
    const next = await on.end(second.ask("And now?"));
    expect((await second.thread()).firstSeq).toBeGreaterThan(seq);
    const again = await on.end(second.steer("Be brief.", { id: "brief" }));
    const other = await on.end(second.steer("In verse.", { id: "verse" }));
    expect([again.accepted, other.accepted]).toEqual([true, true]);
    expect(await on.end(again.receipt)).toEqual({ id: "brief", delivered: true, seq });
    await on.end(next.result);
    expect(await on.end(other.receipt)).toMatchObject({ id: "verse", delivered: true });
    const steers = (await on.log()).flatMap(({ refs }) => refs.signalId ?? []);
    expect(steers).toEqual(["brief", "verse"]);
  });

  test("during the last answer continues the request; a follow-up waits for its end", async () => {
    const on = await stage();
    const script = [
      { text: "One.", delayMs: 20 },
      { expect: "Two?", text: "Two.", delayMs: 20 },
      { expect: "Three?", text: "Three." },
    ];
    const server = await on.start({ script });
    const request = await on.end(server.ask("One?"));
    const follow = await on.end(server.followUp("Three?"));
    const steer = await on.end(server.steer("Two?"));
    expect((await on.end(request.result)).text).toBe("Three.");
    expect(await on.end(Promise.all([steer.receipt, follow.receipt]))).toMatchObject([{ seq: 2 }, { seq: 4 }]);
    await proveAll(on.store, on.threadId);
  });

  test("at the last iteration costs the user nothing", async () => {
    const on = await stage();
    const server = await on.start({ script: [{ text: "One.", delayMs: 20 }], maxIterations: 1 });
    const request = await on.end(server.ask("Go."));
    const { receipt } = await on.end(server.steer("Wait!"));
    const { text, terminationReason } = await on.end(request.result);
    expect({ text, terminationReason }).toEqual({ text: "One.", terminationReason: "final_answer" });
    expect(await on.end(receipt)).toMatchObject({ delivered: false, reason: "closed" });
  });

  test("with the same id is delivered once, and both callers get the outcome", async () => {
    const on = await stage();
    const { hold, tools } = look();
    const server = await on.start({ script: [looking, "Ok."], tools });
    const request = await on.end(server.ask("Go."));
    const twice = [server.steer("Be brief.", { id: "s1" }), server.steer("Be brief.", { id: "s1" })];
    const steers = await on.end(Promise.all(twice));
    hold.resolve("seen");
    await on.end(request.result);
    expect(await on.end(Promise.all(steers.map(({ receipt }) => receipt)))).toEqual([
      { id: "s1", delivered: true, seq: 3 },
      { id: "s1", delivered: true, seq: 3 },
    ]);
    expect(told(await on.log()).filter((line) => line.startsWith("steer"))).toHaveLength(1);
  });
});

describe("what is not taken says why at once", () => {
  const reasonOf = async (answer: Promise<SteerAnswer>) => {
    const { accepted, reason, receipt } = await answer;
    const settled = await receipt;
    expect({ accepted, delivered: settled.delivered }).toEqual({ accepted: false, delivered: false });
    expect(settled).toMatchObject({ reason });
    return reason;
  };

  test("idle, request_mismatch, empty_content, closed", async () => {
    const on = await stage();
    const server = await on.start({ script: [{ hang: true }] });
    expect(await on.end(reasonOf(server.steer("Hm?")))).toBe("idle");
    await on.end(server.ask("Go."));
    expect(await on.end(reasonOf(server.steer("Hm?", { requestId: "other" })))).toBe("request_mismatch");
    expect(await on.end(reasonOf(server.steer("  \n")))).toBe("empty_content");
    await on.end(server.stop({ graceMs: 0 }));
    expect(await on.end(reasonOf(server.steer("Hm?")))).toBe("closed");
  });

  test("words that are injected without a source are an error that says so", async () => {
    const on = await stage();
    const server = await on.start();
    for (const options of [undefined, null, {}, { source: 7 }]) {
      const code = "invalid_options";
      await expect(server.inject("Hm?", options as never)).rejects.toMatchObject({ code });
    }
  });

  test("queue_full behind 64", async () => {
    const on = await stage();
    const { hold, tools } = look();
    const server = await on.start({ script: [looking, "Ok."], tools });
    const request = await on.end(server.ask("Go."));
    await on.settled();
    const words = Array.from({ length: 66 }, (_, index) => server.steer(`Word ${index}.`));
    const steers = await on.end(Promise.all(words));
    expect(steers.map(({ accepted }) => accepted)).toEqual([...Array.from({ length: 64 }, () => true), false, false]);
    expect(await on.end(reasonOf(server.steer("More.")))).toBe("queue_full");
    hold.resolve("seen");
    await on.end(request.result);
    const receipts = await on.end(Promise.all(steers.slice(0, 64).map(({ receipt }) => receipt)));
    expect(receipts.every(({ delivered }) => delivered)).toBe(true);
    expect(receipts.map((one) => (one.delivered ? one.seq : -1))).toEqual(receipts.map((_, index) => index + 3));
  });

  test("and what was taken and could not be delivered says so later: cancelled, run_failed, suspended", async () => {
    const on = await stage();
    const server = await on.start({
      script: [{ hang: true }, { error: { status: 400 }, delayMs: 50 }, { hang: true }],
    });
    await on.end(server.ask("One."));
    const one = await on.end(server.steer("Hm?"));
    await on.end(server.cancel());
    expect(await on.end(one.receipt)).toMatchObject({ delivered: false, reason: "cancelled" });
    const second = await on.end(server.ask("Two."));
    const two = await on.end(server.steer("Hm?"));
    await failureOf(on.end(second.result));
    expect(await on.end(two.receipt)).toMatchObject({ delivered: false, reason: "run_failed" });
    await on.end(server.ask("Three."));
    const three = await on.end(server.steer("Hm?"));
    await on.end(server.stop({ graceMs: 0 }));
    expect(await on.end(three.receipt)).toEqual({ id: three.id, delivered: false, reason: "suspended" });
  });
});
