import { defineAgent, memoryStore, type ThreadStore } from "heddle";
import { sqliteStore } from "heddle/sqlite";
import { scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { fastFile } from "../../support/temp-folder.ts";
import { anything, eventsOf, stage } from "../support/stage.ts";

const look = (n: number, more: object = {}) => ({ calls: [{ name: "look", arguments: { n, ...more } }] });
const stores: readonly (readonly [string, () => ThreadStore])[] = [
  ["memory", () => memoryStore()],
  ["SQLite", () => sqliteStore(fastFile())],
];

describe.each(stores)("a call that is repeated, with %s", (_, open) => {
  test("as often as the limit says, with equal arguments, ends the request, also when another process resumes it", async () => {
    const on = await stage({ store: open() });
    let runs = 0;
    const hung = Promise.withResolvers<void>();
    const execute = () => (++runs === 2 ? hung.promise : "seen");
    const tools = { look: { inputSchema: anything, repeatable: true, execute } };
    const config = { tools, limits: { repeatedCalls: 3 } };
    const first = await on.start({ ...config, script: [look(1, { a: 1, b: 2 }), look(1, { b: 2, a: 1 })] });
    const { id } = await on.end(first.ask("Go."));
    await on.settled();
    await on.end(first.stop({ graceMs: 0 }));
    const script = [look(2), look(1, { a: 1, b: 2 }), "Never."];
    const second = await on.start({ ...config, script });
    expect(await on.end(second.result(id))).toMatchObject({ terminationReason: "loop_detected" });
    await on.end(second.stop());
    const end = (await on.log()).at(-1)?.payload["end"];
    expect(end).toEqual({ status: "completed", terminationReason: "loop_detected" });
    expect(runs).toBe(5); // the call that was interrupted ran twice
  });

  test("in another request counts from the start, and without a limit it is not counted", async () => {
    const on = await stage({ store: open() });
    const tools = { look: { inputSchema: anything, execute: () => "seen" } };
    const script = [look(1), "One.", look(1), "Two."];
    const server = await on.start({ script, tools, limits: { repeatedCalls: 2 } });
    for (const text of ["One.", "Two."])
      expect((await on.end((await on.end(server.ask("Go."))).result)).text).toBe(text);
    await on.end(server.stop());
    const free = await on.start({ script: [look(1), look(1), look(1), "Three."], tools });
    expect((await on.end((await on.end(free.ask("Go."))).result)).text).toBe("Three.");
  });
});

test.each([1, 2.5, "3"])("a limit of %s is refused", (repeatedCalls) => {
  const limits = { repeatedCalls: repeatedCalls as number };
  expect(() => defineAgent({ model: scriptedModel([]), limits })).toThrow("a whole number from 2 as repeatedCalls");
});

test("tool_started has the arguments only when content is allowed", async () => {
  const tools = { look: { inputSchema: anything, execute: () => "seen" } };
  for (const redact of [true, false]) {
    const on = await stage();
    const server = await on.start({ script: [look(1), "Done."], tools, redact });
    const events = await on.end(eventsOf(await on.end(server.ask("Go."))));
    const started = events.find(({ kind }) => kind === "tool_started");
    expect(started?.data).toEqual(redact ? {} : { arguments: { n: 1 } });
  }
});
