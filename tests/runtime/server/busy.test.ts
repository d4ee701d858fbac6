import { StoreError } from "heddle";
import { describe, expect, test } from "vitest";
import { spied } from "../support/spied-store.ts";
import { anything, eventsOf, expectWhole, failureOf, proveAll, type Stage, stage, told } from "../support/stage.ts";

const slowly = (text: string) => ({ text, delayMs: 50 });

test("an ask while a request runs is refused, and leaves the thread as it is", async () => {
  const on = await stage();
  const server = await on.start({ script: [slowly("One.")] });
  const request = await on.end(server.ask("One?"));
  const error = await failureOf(on.end(server.ask("Two?")));
  expect({ code: error.code, retryable: error.retryable }).toEqual({ code: "busy", retryable: true });
  expect(await on.log()).toHaveLength(1);
  expect((await on.end(request.result)).text).toBe("One.");
});

describe("an ask while a call waits for an outside answer", () => {
  const pay = { inputSchema: anything, needsApproval: true, execute: () => "paid" };
  const question = { inputSchema: anything };

  test.each([
    ["pay", ["approval", "approve", "deny", "cancel", "queue", "decision"]],
    ["question", ["answer", "cancel", "queue"]],
  ])("is refused with what to do about the call of %s", async (name, words) => {
    const on = await stage();
    const server = await on.start({ script: [{ calls: [{ id: "p", name }] }], tools: { pay, question } });
    const request = await on.end(server.ask("Go."));
    await on.end(request.settled());
    const error = await failureOf(on.end(server.ask("Two?")));
    expect(error).toMatchObject({ code: "busy", retryable: true });
    for (const word of words) expect(error.message).toContain(word);
    expect(error.message).not.toContain("at work");
  });

  test("runs after the decision where the agent queues", async () => {
    const on = await stage();
    const script = [{ calls: [{ id: "p", name: "pay" }] }, "Paid.", "Two."];
    const server = await on.start({ script, tools: { pay }, busy: "queue" });
    const request = await on.end(server.ask("Go."));
    await on.end(request.settled());
    const two = server.ask("Two?");
    await on.settled();
    await on.end(server.approve("p"));
    expect((await on.end((await on.end(two)).result)).text).toBe("Two.");
  });
});

describe("an agent that queues", () => {
  test("answers asks one after the other, in their order", async () => {
    const on = await stage();
    const script = ["One.", "Two.", "Three."].map((text) => ({ expect: text.replace(".", "?"), ...slowly(text) }));
    const server = await on.start({ script, busy: "queue" });
    const asked = ["One?", "Two?", "Three?"].map(async (text) => (await server.ask(text)).result);
    expect((await on.end(Promise.all(asked))).map(({ text }) => text)).toEqual(["One.", "Two.", "Three."]);
    expect(told(await on.log()).filter((line) => line.startsWith("ask"))).toEqual([
      "ask One?",
      "ask Two?",
      "ask Three?",
    ]);
    await proveAll(on.store, on.threadId);
  });

  test("lets one leave the queue by its signal at once, and keeps the order of the others", async () => {
    const on = await stage();
    const server = await on.start({ script: [slowly("One."), slowly("Three."), "Four."], busy: "queue" });
    const one = await on.end(server.ask("One?"));
    const controller = new AbortController();
    const two = server.ask("Two?", { signal: controller.signal });
    const others = ["Three?", "Four?"].map(async (text) => (await server.ask(text)).result);
    await on.settled();
    controller.abort();
    expect((await failureOf(two)).code).toBe("request_cancelled");
    expect(one.state).toBe("running");
    expect((await on.end(Promise.all(others))).map(({ text }) => text)).toEqual(["Three.", "Four."]);
    expect(told(await on.log()).filter((line) => line.startsWith("ask"))).toEqual([
      "ask One?",
      "ask Three?",
      "ask Four?",
    ]);
  });

  test("continues with the next when one is refused, fails or is cancelled", async () => {
    const on = await stage();
    const server = await on.start({
      script: [{ error: { status: 400 }, delayMs: 10 }, { hang: true }, "Three."],
      busy: "queue",
    });
    const one = await on.end(server.ask("One?"));
    const empty = failureOf(server.ask(" "));
    const two = server.ask("Two?");
    const three = server.ask("Three?");
    expect((await failureOf(on.end(one.result))).code).toBe("request_failed");
    expect((await on.end(empty)).code).toBe("empty_ask");
    const running = await on.end(two);
    await on.end(server.cancel(running.id));
    expect((await failureOf(running.result)).code).toBe("request_cancelled");
    expect((await on.end((await on.end(three)).result)).text).toBe("Three.");
  });

  test("leaves the queued asks to the next server when it stops, and lets the running request end", async () => {
    const on = await stage();
    const server = await on.start({ script: [slowly("One.")], busy: "queue" });
    const one = await on.end(server.ask("One?"));
    const two = server.ask("Two?");
    await on.settled();
    const stop = server.stop();
    expect((await failureOf(two)).code).toBe("request_suspended"); // it waits for the next server
    await on.end(stop);
    expect((await one.result).text).toBe("One.");
    expectWhole(await eventsOf(one));
    expect((await failureOf(server.ask("Three?"))).code).toBe("server_stopped");
  });
});

describe("a server that stops", () => {
  test("leaves what does not end in time to the next, which resumes it", async () => {
    const on = await stage();
    const first = await on.start({ script: [{ text: "One", hang: true }] });
    const request = await on.end(first.ask("One?"));
    await on.settled();
    const stop = first.stop({ graceMs: 1_000 });
    await on.pass(999);
    expect(request.state).toBe("running");
    await on.end(stop);
    expect((await failureOf(request.result)).code).toBe("request_suspended");
    expect(told(await on.log())).toEqual(["ask One?", "note"]); // that the rest is left to the next server
    const second = await on.start({ script: [slowly("Two.")] });
    expect((await on.end(second.request?.result ?? Promise.reject(new Error("none")))).text).toBe("Two.");
    await on.end(second.stop());
    await on.end(second.stop());
  });

  test("releases the thread to another process only when it has stopped", async () => {
    const on = await stage();
    const first = await on.start({ script: [] });
    await expect(on.start({ script: [] }, { claimWaitMs: 0 })).rejects.toMatchObject({ code: "thread_held" });
    await on.end(first.stop());
    const second = await on.start({ script: ["Hi."] }, { claimWaitMs: 0 });
    await on.end((await on.end(second.ask("Hello."))).result);
    await on.pass(60_000); // the claim is renewed all along
    await expect(on.start({ script: [] }, { claimWaitMs: 0 })).rejects.toMatchObject({ code: "thread_held" });
  });

  test("notices that its claim ran out and another has the thread, and takes no more asks", async () => {
    const on = await stage();
    let isAsleep = false;
    const after = on.ports.after;
    const sleepy = { ...on.ports, after: (ms: number, run: () => void) => after(isAsleep ? ms + 30_000 : ms, run) };
    const first = await on.start({ script: ["Hi."] }, { ports: sleepy, leaseTtlMs: 1_000 });
    isAsleep = true; // its process is suspended: no timer fires in time
    await on.pass(400);
    const second = await on.start({ script: ["Ho."] }, { holder: "second" });
    isAsleep = false;
    await on.pass(60_000);
    await expect(first.ask("Hello.")).rejects.toMatchObject({ code: "thread_held", holder: "second" });
    expect((await on.end((await on.end(second.ask("Hello."))).result)).text).toBe("Ho.");
  });
});

test("an ask that waits in the queue is cancelled by its id, and the others have their turn", async () => {
  const on = await stage();
  const server = await on.start({ script: [slowly("One."), "Three."], busy: "queue" });
  const one = await on.end(server.ask("One?"));
  const refused = failureOf(on.end(server.ask("Two?", { requestId: "two" })));
  const three = server.ask("Three?");
  expect(await on.end(server.cancel("two", "The caller hung up."))).toBe(true);
  expect(await refused).toMatchObject({ code: "request_cancelled", message: "The caller hung up." });
  expect((await on.end(one.result)).text).toBe("One.");
  expect((await on.end((await on.end(three)).result)).text).toBe("Three.");
});

describe("an ask that waits in the queue and is cancelled", () => {
  const asksIn = async (on: Stage) => told(await on.log()).filter((text) => text.startsWith("ask"));

  test.each([undefined, 3_600_000])("keeps its row while the store takes no outcome, in %s ms", async (at) => {
    let isAway = false;
    const away = () => new StoreError({ code: "store_unreachable", retryable: true, message: "It is away." });
    const on = await stage({
      around: (store) => {
        const spy = spied(store);
        spy.trouble = () => (isAway ? { error: away } : undefined);
        return spy.store;
      },
    });
    const server = await on.start({ script: [{ hang: true }, { hang: true }], busy: "queue" });
    await on.end(server.ask("One?"));
    const two = on.end(server.ask("Two?", { requestId: "two", ...(at !== undefined && { at }) }));
    const refused = at === undefined ? failureOf(two) : failureOf((await two).result);
    await on.settled();
    isAway = true;
    const error = await failureOf(on.end(server.cancel("two")));
    expect(error).toMatchObject({ code: "request_suspended", retryable: true, requestId: "two" });
    expect((await on.end(refused)).code).toBe("request_suspended");
    isAway = false;
    await on.pass(60_000);
    expect((await server.pending()).map(({ id }) => id)).toEqual(["two"]);
    expect(await on.end(server.cancel("two"))).toBe(true);
    expect(await on.store.outcome(on.threadId, "two")).toEqual({ status: "dropped", reason: "cancelled" });
  });

  test("while another process amends it, never has its turn", async () => {
    const on = await stage();
    const server = await on.start({ script: [{ hang: true }, "Never."], busy: "queue" });
    const one = await on.end(server.ask("One?"));
    const refused = failureOf(on.end(server.ask("Two?", { requestId: "two" })));
    await on.settled();
    const amended = on.store.amend(on.threadId, "two", { content: "Two!", options: {} });
    expect(await on.end(server.cancel("two"))).toBe(true);
    await amended;
    expect((await refused).code).toBe("request_cancelled");
    expect(await on.store.outcome(on.threadId, "two")).toEqual({ status: "dropped", reason: "cancelled" });
    await on.end(server.cancel(one.id));
    await on.settled();
    expect(await asksIn(on)).toEqual(["ask One?"]);
  });

  test("with others, of which one is amended and one withdrawn by another process, never has its turn", async () => {
    const on = await stage();
    const server = await on.start({ script: [{ hang: true }, "Never."], busy: "queue" });
    const one = await on.end(server.ask("One?"));
    const ids = ["w", "x", "y"];
    const refused = ids.map((requestId) => failureOf(on.end(server.ask("More?", { requestId }))));
    await on.settled();
    const others = [
      on.store.amend(on.threadId, "w", { content: "More!", options: {} }),
      on.store.withdraw(on.threadId, "x"),
    ];
    expect(await on.end(server.cancel(one.id, "Stop.", { pending: "drop" }))).toBe(true);
    await Promise.all(others);
    expect((await Promise.all(refused)).map(({ code }) => code)).toEqual(ids.map(() => "request_cancelled"));
    await on.settled();
    expect(await asksIn(on)).toEqual(["ask One?"]);
    expect(await server.pending()).toEqual([]);
  });
});

test("an ask that is refused takes neither context nor tools from the request that runs", async () => {
  const on = await stage();
  const seen: unknown[] = [];
  const look = {
    inputSchema: anything,
    execute: (_: unknown, { context }: { context: unknown }) => seen.push(context),
  };
  const script = [{ calls: [{ name: "look" }], delayMs: 50 }, "Seen."];
  const server = await on.start({ script });
  const request = await on.end(server.ask("Look.", { tools: { look }, context: { user: "ann" } as never }));
  expect((await failureOf(on.end(server.ask("Two?")))).code).toBe("busy");
  expect((await on.end(request.result)).text).toBe("Seen.");
  expect(seen).toEqual([{ user: "ann" }]);
});
