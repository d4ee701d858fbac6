import { expect, test } from "vitest";
import type { AgentEvent, AgentRequest, ThreadStore, Tools } from "../support/heddle.ts";
import { anything, eventsOf, gate, stage } from "../support/stage.ts";

const kinds = (events: readonly AgentEvent[]) => events.map(({ kind }) => kind);

/** What somebody hears who listens while it happens. */
function heard(request: AgentRequest): AgentEvent[] {
  const events: AgentEvent[] = [];
  void (async () => {
    for await (const event of request.events()) events.push(event);
  })();
  return events;
}

test("a tool that yields very often beats no faster than any other", async () => {
  const on = await stage();
  const execute = async function* () {
    for (let n = 0; n < 50_000; n++) yield n;
  };
  const tools = { count: { inputSchema: anything, execute } };
  const server = await on.start({ tools, script: [{ calls: [{ name: "count" }] }, "Done."] });
  const request = await server.ask("Go.");
  const live = heard(request);
  await on.end(request.result);
  const elapsed = (live.at(-1)?.at ?? 0) - (live[0]?.at ?? 0);
  expect(kinds(live).filter((kind) => kind === "keepalive").length).toBeLessThanOrEqual(1 + elapsed / 5_000);
});

test("a late listener gets the last beat of each call, an early one gets all of them", async () => {
  const on = await stage();
  const execute = () => new Promise((resolve) => on.ports.after(22_000, () => resolve("done")));
  const tools = { slow: { inputSchema: anything, execute } };
  const script = [{ calls: [{ name: "slow" }, { name: "slow" }] }, "Done."];
  const server = await on.start({ tools, script });
  const request = await server.ask("Go.");
  const live = heard(request);
  await on.end(request.result);
  const beats = (events: readonly AgentEvent[]) =>
    events.flatMap((event) => (event.kind === "keepalive" ? [[event.toolCallId, event.data.runningMs]] : []));
  expect(beats(live)).toHaveLength(8);
  expect(beats(await eventsOf(request))).toEqual([
    ["call_1", 20_000],
    ["call_2", 20_000],
  ]);
});

test("event ids continue after those before a crash, also where a tool yields during a slow append", async () => {
  const slow = gate();
  const yielding = gate();
  let isSlow = false;
  const around = (store: ThreadStore): ThreadStore => {
    const append = store.append.bind(store);
    store.append = async (id, entries, options) => {
      const isResult = [entries].flat().some(({ payload }) => Object(payload)["role"] === "tool");
      if (isResult && !isSlow) {
        isSlow = true;
        yielding.resolve();
        await slow.promise;
      }
      return append(id, entries, options);
    };
    return store;
  };
  const on = await stage({ around });
  const never = gate();
  const counts = async function* () {
    await yielding.promise;
    for (let n = 0; n < 30; n++) yield n;
    slow.resolve();
    await never.promise;
  };
  const later = gate();
  const toolsWith = (execute: () => unknown): Tools => ({
    quick: { inputSchema: anything, execute: () => "quick" },
    counts: { inputSchema: anything, repeatable: true, execute },
  });
  const script = [{ calls: [{ name: "quick" }, { name: "counts" }] }];
  const server = await on.start({ tools: toolsWith(counts), script });
  const before = heard(await on.end(server.ask("Go.")));
  await on.settled();
  const told = before.findLast(({ kind }) => kind === "tool_completed")?.seq ?? 0;
  expect(told).toBeGreaterThan(0);
  await on.end(server.stop({ graceMs: 0 })); // as a kill: nothing more is written
  const next = await on.start({ tools: toolsWith(() => later.promise), script: ["Done."] });
  const request = next.request ?? expect.fail("it is open");
  later.resolve();
  const [first] = await on.end(eventsOf(request));
  expect(first?.seq).toBeGreaterThan(told);
});
