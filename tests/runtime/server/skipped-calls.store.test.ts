import { type Entry, memoryStore } from "heddle";
import { sqliteStore } from "heddle/sqlite";
import { describe, expect, test } from "vitest";
import { fastFile } from "../../support/temp-folder.ts";
import { anything, eventsOf, expectWhole, gate, proveAll, type Stage, stage, told } from "../support/stage.ts";

const NODE = { holder: "node" };
const calls = (...names: readonly string[]) => ({ calls: names.map((name) => ({ name, id: name })) });
const CHANGED = { skip: true, id: "changed" };

/** The results by the id of their call: `skipped`, or what the tool said. */
function results(entries: readonly Entry[]): object {
  const found = entries.flatMap(({ payload }) => {
    const { role, toolCallId, content } = payload as Record<string, unknown>;
    if (role !== "tool") return [];
    const error = String(content).startsWith("{") ? JSON.parse(String(content)).error : undefined;
    return [[toolCallId, error?.type ?? content]];
  });
  return Object.fromEntries(found);
}

describe.each([
  ["memory", () => memoryStore()],
  ["SQLite", () => sqliteStore(fastFile())],
])("a steer that skips calls on %s", (_name, open) => {
  const begin = async (): Promise<Stage> => stage({ store: await open() });

  /** `slow` runs, and takes the only place. */
  function tools() {
    const hold = gate<string>();
    const ran: string[] = [];
    const quick = (name: string) => ({
      inputSchema: anything,
      execute: () => {
        ran.push(name);
        return "done";
      },
    });
    const slow = { inputSchema: anything, execute: () => hold.promise };
    const send = { ...quick("send"), needsApproval: true };
    const seat = { inputSchema: anything };
    return { hold, ran, tools: { slow, first: quick("first"), second: quick("second"), send, seat } };
  }

  test("leaves the one that runs, and no other begins", async () => {
    const on = await begin();
    const { hold, ran, tools: all } = tools();
    const script = [calls("slow", "first", "second"), { expect: { lastUser: "Stop that." }, text: "Ok." }];
    const server = await on.start({ script, tools: all, toolConcurrency: 1 }, NODE);
    const request = await on.end(server.ask("Go."));
    await on.settled();
    const { accepted, receipt } = await on.end(server.steer("Stop that.", CHANGED));
    await on.settled();
    expect([accepted, results(await on.log())]).toEqual([true, { first: "skipped", second: "skipped" }]);
    expect(await server.pending()).toMatchObject([{ id: "changed" }]);
    hold.resolve("slow");
    await on.end(request.result);
    expect(ran).toEqual([]);
    expect(told(await on.log())).toEqual([
      "ask Go.",
      "calls slow,first,second",
      "result first",
      "result second",
      "result slow",
      "steer Stop that.",
      "says Ok. end:completed",
    ]);
    expect(results(await on.log())).toMatchObject({ slow: "slow" });
    expect(await on.end(receipt)).toMatchObject({ delivered: true, seq: 5 });
    expectWhole(await eventsOf(request));
    await proveAll(on.store, on.threadId);
  });

  test("closes those that wait for an approval or an answer, in one append", async () => {
    const on = await begin();
    const { ran, tools: all } = tools();
    const server = await on.start({ script: [calls("send", "seat"), "Ok."], tools: all }, NODE);
    const request = await on.end(server.ask("Go."));
    await on.settled();
    expect(await server.waiting()).toHaveLength(2);
    await on.end(server.steer("Stop that.", CHANGED));
    await on.end(request.result);
    expect([ran, results(await on.log())]).toEqual([[], { send: "skipped", seat: "skipped" }]);
    const { at, seq } = (await on.log()).find(({ payload }) => "toolCallId" in payload && "role" in payload) ?? {};
    expect((await on.log())[(seq ?? 0) + 1]?.at).toBe(at);
    await proveAll(on.store, on.threadId);
  });

  test("closes those of an answer that is on its way, and none of a later one", async () => {
    const on = await begin();
    const { ran, tools: all } = tools();
    const script = [{ ...calls("first"), delayMs: 50 }, calls("second"), "Ok."];
    const server = await on.start({ script, tools: all, steering: "one" }, NODE);
    const request = await on.end(server.ask("Go."));
    await on.end(server.steer("One.", { id: "one" }));
    await on.end(server.steer("Two.", { id: "two", skip: true }));
    await on.end(request.result);
    expect([ran, results(await on.log())]).toEqual([["second"], { first: "skipped", second: "done" }]);
  });

  test("is a row with the calls that it skips, for the next process", async () => {
    const on = await begin();
    const { tools: all } = tools();
    const script = [calls("slow", "first", "send"), "Ok."];
    const first = await on.start({ script, tools: all, toolConcurrency: 1 }, NODE);
    await on.end(first.ask("Go."));
    await on.settled();
    await on.end(first.stop({ graceMs: 0 }));
    const row = { type: "steer", steer: "steer", content: "Stop that.", skip: true };
    await on.store.append(on.threadId, [], { posts: [{ threadId: on.threadId, command: { id: "changed", ...row } }] });
    const second = await on.start({ script: ["Ok."], tools: all }, NODE);
    await on.pass(100);
    expect(results(await on.log())).toEqual({ slow: "interrupted", first: "skipped", send: "skipped" });
    expect(told(await on.log()).slice(-2)).toEqual(["steer Stop that.", "says Ok. end:completed"]);
    expect(await second.pending()).toEqual([]);
  });

  test("begins none of them while their results are written", async () => {
    const store = await open();
    const written = gate<void>();
    const around = () =>
      new Proxy(store, {
        get: (of, key) => {
          const value: unknown = Reflect.get(of, key);
          if (typeof value !== "function") return value;
          if (key !== "append") return value.bind(of);
          return async (...args: readonly unknown[]) => {
            if (JSON.stringify(args[1]).includes("skipped")) await written.promise;
            return value.apply(of, args);
          };
        },
      });
    const on = await stage({ store, around });
    const { hold, ran, tools: all } = tools();
    const server = await on.start({ script: [calls("slow", "first"), "Ok."], tools: all, toolConcurrency: 1 }, NODE);
    const request = await on.end(server.ask("Go."));
    await on.settled();
    await on.end(server.steer("Stop that.", CHANGED));
    hold.resolve("slow"); // the place is free
    await on.settled();
    expect(ran).toEqual([]);
    written.resolve();
    await on.end(request.result);
    expect([ran, results(await on.log())]).toEqual([[], { slow: "slow", first: "skipped" }]);
  });

  test("is not what a repeated message does", async () => {
    const on = await begin();
    const { hold, tools: all } = tools();
    const script = [calls("slow"), calls("first"), "Ok."];
    const server = await on.start({ script, tools: all }, NODE);
    const request = await on.end(server.ask("Go."));
    await on.settled();
    await on.end(server.steer("Stop that.", CHANGED));
    hold.resolve("slow");
    await on.settled();
    await on.end(server.steer("Stop that.", CHANGED));
    await on.end(request.result);
    expect(results(await on.log())).toEqual({ slow: "slow", first: "done" });
  });
});
