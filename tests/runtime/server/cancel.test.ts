import { describe, expect, test } from "vitest";
import { anything, eventsOf, expectWhole, failureOf, proveAll, stage, told } from "../support/stage.ts";

const never = () => new Promise<never>(() => undefined);

/** Phases in which a request can be cancelled; each is reached when nothing moves any more. */
const PHASES = {
  "before the first word": { script: [{ hang: true }] },
  "in mid-sentence": { script: [{ text: ["One", " two"], hang: true }] },
  "while a retry is waited for": { script: [{ error: { status: 503 } }] },
  "while a tool runs": { script: [{ calls: [{ name: "hang" }] }] },
  "while a tool waits for its place": { script: [{ calls: [{ name: "hang" }, { name: "hang" }] }], toolConcurrency: 1 },
  "while it waits for approval": { script: [{ calls: [{ name: "pay" }] }] },
  "while it waits for an answer": { script: [{ calls: [{ name: "client" }, { name: "hang" }] }] },
  "while the request is transformed": { script: [], transformRequest: never },
  "while the output is checked": {
    script: ["{}"],
    output: {
      "~standard": {
        version: 1,
        vendor: "t",
        validate: never,
        jsonSchema: { input: () => ({ type: "object" }), output: () => ({ type: "object" }) },
      },
    },
  },
} as const;

const tools = {
  hang: { inputSchema: anything, execute: never },
  pay: { inputSchema: anything, needsApproval: true, execute: () => "paid" },
  client: { inputSchema: anything },
};

describe.each(Object.entries(PHASES))("%s", (_phase, config) => {
  test.each(["cancel", "signal", "twice"])("a request ends by %s, and the next ask is answered", async (how) => {
    const on = await stage();
    const controller = new AbortController();
    const server = await on.start({ tools, ...config } as never);
    const request = await on.end(server.ask("Go.", { signal: controller.signal }));
    await on.settled();
    expect(await server.cancel("req_other")).toBe(false);
    if (how === "signal") controller.abort();
    else if (how === "twice")
      expect(await on.end(Promise.all([server.cancel(request.id), server.cancel()]))).toEqual([true, true]);
    else expect(await on.end(server.cancel(request.id, "enough"))).toBe(true);
    const error = await failureOf(on.end(request.result));
    expect({ code: error.code, isMine: error.requestId === request.id }).toEqual({
      code: "request_cancelled",
      isMine: true,
    });
    if (how === "cancel") expect(error.message).toBe("enough");
    const events = await eventsOf(request);
    expectWhole(events);
    expect(events.at(-1)?.kind).toBe("request_cancelled");
    expect(await server.cancel()).toBe(false);
    expect(told(await on.log()).at(-1)).toBe("error end:cancelled");
    await proveAll(on.store, on.threadId);
    await on.end(server.stop());
    const next = await on.start({ script: ["Here."], tools });
    expect((await on.end((await on.end(next.ask("Still there?"))).result)).text).toBe("Here.");
    await proveAll(on.store, on.threadId);
  });
});

test("text before a cancel is stored and marked", async () => {
  const on = await stage();
  const server = await on.start({ script: [{ text: ["One", " two"], hang: true }, "Three."] });
  const request = await on.end(server.ask("Count."));
  await on.settled();
  await on.end(server.cancel());
  const partial = (await on.log()).find(({ payload }) => "partial" in payload)?.payload;
  expect(partial).toMatchObject({ role: "assistant", content: "One two", partial: true });
  expect((await failureOf(request.result)).code).toBe("request_cancelled");
  await on.end((await on.end(server.ask("Go on."))).result);
  await proveAll(on.store, on.threadId);
});

test("a cancel reaches the model and the tools", async () => {
  const on = await stage();
  const aborted: string[] = [];
  const listens = {
    inputSchema: anything,
    execute: (_input: unknown, { abortSignal }: { abortSignal: AbortSignal }) =>
      new Promise((resolve) => abortSignal.addEventListener("abort", () => resolve(aborted.push("tool")))),
  };
  const server = await on.start({ script: [{ calls: [{ name: "listens" }] }], tools: { listens } });
  await on.end(server.ask("Go."));
  await on.settled();
  await on.end(server.cancel());
  expect(aborted).toEqual(["tool"]);
});

test("a deadline that passes while a cancel waits for a tool sets no more timers", async () => {
  const on = await stage();
  const late = { ...tools.pay, approval: { timeoutMs: 500 } };
  let timers = 0;
  const after: typeof on.ports.after = (ms, run) => {
    timers += 1;
    if (timers > 50) throw new Error("It sets timers without end.");
    return on.ports.after(ms, run);
  };
  const script = [{ calls: [{ name: "pay" }, { name: "hang" }] }];
  const server = await on.start({ script, tools: { pay: late, hang: tools.hang } }, { ports: { ...on.ports, after } });
  await on.end(server.ask("Go."));
  await on.settled();
  expect(await on.end(server.cancel())).toBe(true);
  expect(timers).toBeLessThan(50);
});

describe.each(["reject", "queue"] as const)("an ask that is prepared, with busy: %s", (busy) => {
  test.each(["cancel", "drop"])("is cancelled by its id, or with all that wait: %s", async (how) => {
    const on = await stage();
    const accept = (_: unknown, { content }: { readonly content: unknown }) => {
      return content === "Two?" ? new Promise<never>(() => undefined) : undefined;
    };
    const server = await on.start({ script: ["One.", "Three."], busy, accept });
    const one = await on.end(server.ask("One?"));
    if (busy === "reject") await on.end(one.result);
    const refused = failureOf(on.end(server.ask("Two?", { requestId: "two" })));
    await on.end(one.result);
    await on.settled();
    const cancelled =
      how === "cancel" ? server.cancel("two", "No.") : server.cancel(undefined, "No.", { pending: "drop" });
    expect(await on.end(cancelled)).toBe(true);
    expect(await refused).toMatchObject({ code: "request_cancelled", message: "No." });
    expect(await server.pending()).toEqual([]);
    expect((await on.end((await on.end(server.ask("Three?"))).result)).text).toBe("Three.");
    expect(told(await on.log()).filter((text) => text.startsWith("ask"))).toEqual(["ask One?", "ask Three?"]);
  });
});

test("a signal that is aborted already keeps the ask out of the log", async () => {
  const on = await stage();
  const server = await on.start({ script: [] });
  expect((await failureOf(server.ask("Go.", { signal: AbortSignal.abort() }))).code).toBe("request_cancelled");
  expect(await on.log()).toEqual([]);
});
