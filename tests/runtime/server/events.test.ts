import { faultStore } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { anything, eventsOf, expectWhole, failureOf, gate, proveAll, stage } from "../support/stage.ts";

const add = { inputSchema: anything, execute: ({ a, b }: { a: number; b: number }) => a + b };
const script = [{ calls: [{ name: "add", arguments: { a: 2, b: 2 } }] }, { text: ["It", " is", " 4."] }];

describe("events of a request", () => {
  test("are numbered from 1 without gaps, and the one terminal event is the last", async () => {
    const on = await stage();
    const server = await on.start({ script, tools: { add } });
    const request = await server.ask("What's 2+2?");
    const { text, calls, terminationReason, usage } = await request.result;
    expect({ text, terminationReason, calls: calls.length }).toEqual({
      text: "It is 4.",
      terminationReason: "final_answer",
      calls: 2,
    });
    expect(usage.outputTokens).toBeGreaterThan(0);
    const events = await eventsOf(request);
    expectWhole(events);
    expect(events.filter(({ kind }) => kind !== "llm_delta").map(({ kind }) => kind)).toEqual([
      "request_started",
      "llm_started",
      "llm_completed",
      "tool_started",
      "tool_completed",
      "llm_started",
      "llm_completed",
      "request_completed",
    ]);
    expect(await proveAll(on.store, on.threadId)).toBe(2);
  });

  test("have unique ids, though a process that dies in an answer makes its numbers come again", async () => {
    const on = await stage();
    const store = faultStore(on.store);
    const first = await on.start({ script: [{ text: "One two three four.", hang: true }] }, { store });
    const asked = await on.end(first.ask("Go."));
    await on.pass(100);
    store.crash();
    await on.end(first.stop({ graceMs: 0 }));
    const second = await on.start({ script: [{ text: "Five six seven.", delayMs: 20 }] });
    const taken = second.request ?? expect.fail("nothing was taken up");
    await on.end(taken.result);
    const events = [...(await eventsOf(asked)), ...(await eventsOf(taken))];
    const numbers = events.map(({ seq }) => seq);
    const ids = events.map(({ id }) => id);
    expect(new Set(numbers).size).toBeLessThan(numbers.length);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.every((id) => id.startsWith(`${asked.runId}.`))).toBe(true);
  });

  test("come whole to a listener that iterates late, early, or beside another", async () => {
    const on = await stage();
    const server = await on.start({ script, tools: { add } });
    const request = await server.ask("What's 2+2?");
    const [one, two] = await on.end(Promise.all([eventsOf(request), eventsOf(request)]));
    const late = await eventsOf(request);
    expectWhole(late);
    expect(one).toEqual(late);
    expect(two).toEqual(late);
  });

  test("are not disturbed by a listener that throws or leaves", async () => {
    const on = await stage();
    const server = await on.start({ script, tools: { add } });
    const request = await server.ask("What's 2+2?");
    const angry = (async () => {
      for await (const _event of request.events()) throw new Error("no more");
    })();
    await expect(angry).rejects.toThrow("no more");
    for await (const _event of request.events()) break;
    expect((await on.end(request.result)).text).toBe("It is 4.");
    expectWhole(await eventsOf(request));
  });

  test("end where the request waits, when that is what the listener wants", async () => {
    const on = await stage();
    const pay = { inputSchema: anything, needsApproval: true, execute: () => "paid" };
    const server = await on.start({ script: [{ calls: [{ name: "pay" }] }, "Done."], tools: { pay } });
    const request = await server.ask("Pay.");
    const before = await on.end(eventsOf(request, { until: "waiting" }));
    expect(before.at(-1)?.kind).toBe("approval_requested");
    expect(request.state).toBe("waiting");
    await server.approve("call_1");
    expectWhole(await on.end(eventsOf(request, { until: "waiting" })));
    expect(request.state).toBe("done");
  });

  test("that are read alone raise no unhandled rejection when the request fails", async () => {
    const unhandled: unknown[] = [];
    const note = (error: unknown) => void unhandled.push(error);
    process.on("unhandledRejection", note);
    const on = await stage();
    const server = await on.start({ script: [{ error: { status: 400, message: "no" } }] });
    const request = await server.ask("Hello");
    const events = await on.end(eventsOf(request));
    await on.settled();
    process.off("unhandledRejection", note);
    expectWhole(events);
    expect(events.at(-1)?.kind).toBe("request_failed");
    expect(unhandled).toEqual([]);
    expect((await failureOf(request.result)).code).toBe("request_failed");
  });

  test("hold no deltas for late listeners when they are not captured, and all of them for early ones", async () => {
    const on = await stage();
    const server = await on.start({ script: [{ text: ["a", "b"] }], captureDeltas: false });
    const request = await server.ask("Hello");
    const early = await on.end(eventsOf(request));
    const late = await eventsOf(request);
    expect(early.filter(({ kind }) => kind === "llm_delta")).toHaveLength(2);
    expectWhole(early);
    expect(late.filter(({ kind }) => kind === "llm_delta")).toHaveLength(0);
    expect(late.at(-1)?.kind).toBe("request_completed");
  });
});

describe("the text of a request", () => {
  const texts = async (config: object) => {
    const on = await stage();
    const server = await on.start({ script, tools: { add }, ...config });
    const request = await server.ask("What's 2+2?");
    const pieces: string[] = [];
    const read = (async () => {
      for await (const text of request.textStream) pieces.push(text);
    })();
    await on.end(read);
    return pieces;
  };

  test("streams as the model says it", async () => {
    expect(await texts({})).toEqual(["It", " is", " 4."]);
  });

  test("comes at once from a model that does not stream", async () => {
    expect(await texts({ streaming: false })).toEqual(["It is 4."]);
  });

  test("ends with a request that is cancelled", async () => {
    const on = await stage();
    const server = await on.start({ script: [{ text: ["a", "b"], hang: true }] });
    const request = await server.ask("Hello");
    const first = gate<string>();
    const read = (async () => {
      let all = "";
      for await (const text of request.textStream) {
        all += text;
        first.resolve(text);
      }
      return all;
    })();
    await on.end(first.promise);
    await on.end(server.cancel());
    expect(await on.end(read)).toBe("ab");
  });
});
