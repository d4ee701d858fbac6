import { memoryStore, runInstructions, type ThreadStore } from "heddle";
import { defineAction, direct } from "heddle/core";
import { sqliteStore } from "heddle/sqlite";
import { faultStore } from "heddle/testing";
import { afterEach, describe, expect, test } from "vitest";
import { tempFolder } from "../support/temp-folder.ts";

const runs: string[] = [];
const note = defineAction({
  name: "note",
  inputSchema: { type: "object" },
  run: (_params, { context }: { context: { at: (what: string) => void | Promise<void> } }) => context.at("run"),
});
const fail = defineAction({
  name: "fail",
  inputSchema: { type: "object" },
  run: () => {
    throw new Error("secret");
  },
});
const agent = direct({ actions: [note, fail] });
const context = { at: (what: string) => void runs.push(what) };
const of = (action: string, instructionId?: string) =>
  ({ type: "instruction", action, ...(instructionId && { instructionId }) }) as const;

afterEach(() => void runs.splice(0));

const stores: readonly (readonly [string, () => ThreadStore])[] = [
  ["memory", memoryStore],
  ["SQLite", () => sqliteStore(`${tempFolder()}/log.db`)],
];

for (const [name, open] of stores)
  describe(`instructions on a store in ${name}`, () => {
    test("the start is durable before the action runs, and the end has the code of a failure", async () => {
      const store = open();
      const seen: unknown[] = [];
      const at = async (): Promise<void> => void seen.push((await store.load("t"))?.toArray().map(({ kind }) => kind));
      const { agent: after } = await runInstructions(agent, [of("note"), of("fail")], {
        context: { at },
        store,
        threadId: "t",
      });
      expect(seen).toEqual([["instruction_start"]]);
      const thread = await store.load("t");
      expect(
        thread
          ?.toArray()
          .map(({ payload }) => [payload["action"], payload["status"], payload["code"], payload["paramKeys"]]),
      ).toEqual([
        ["note", undefined, undefined, undefined],
        ["note", "ok", undefined, undefined],
        ["fail", undefined, undefined, undefined],
        ["fail", "error", "action_failed", undefined],
      ]);
      expect(after.thread.toArray()).toEqual(thread?.toArray());
      await store.close();
    });

    test("an instruction that ran, or may have run before a crash, is refused under its id", async () => {
      const store = open();
      const options = { context, store, threadId: "t" };
      const never = { at: () => new Promise<void>(() => undefined) };
      void runInstructions(agent, [of("note", "i1")], { ...options, context: never }); // a process that dies in the action
      await expect.poll(async () => (await store.load("t"))?.rev).toBe(1);
      const { results } = await runInstructions(agent, [of("note", "i1"), of("note", "i2")], options);
      expect(results).toMatchObject([
        { status: "error", failure: { code: "instruction_id_reused" } },
        { status: "ok" },
      ]);
      expect(runs).toEqual(["run"]);
      expect((await store.load("t"))?.rev).toBe(3);
      await store.close();
    });

    test("an append that fails for a moment is repeated, so that no outcome is lost", async () => {
      const store = open();
      for (const type of ["fail", "lost"] as const) {
        const faulty = faultStore(store, { plan: ({ n }) => (n === 2 || n === 4 ? { type } : undefined) });
        const two = [of("note", `${type} 1`), of("note", `${type} 2`)];
        const { results, agent: after } = await runInstructions(agent, two, { context, store: faulty, threadId: type });
        expect(results).toMatchObject([{ status: "ok" }, { status: "ok" }]);
        expect(after.thread.toArray().map(({ payload }) => payload["status"])).toEqual([
          undefined,
          "ok",
          undefined,
          "ok",
        ]);
      }
      expect(runs).toHaveLength(4);
      await store.close();
    });

    test("of two processes that start one instruction at once, one runs it", async () => {
      const store = open();
      const options = { context, store, threadId: "t" };
      const both = await Promise.all([1, 2].map(() => runInstructions(agent, [of("note", "i1")], options)));
      const [won, lost] = both.map(({ results }) => results[0]).toSorted((a) => (a?.status === "ok" ? -1 : 1));
      expect([won, lost]).toMatchObject([{ status: "ok" }, { failure: { code: "instruction_id_reused" } }]);
      expect(runs).toEqual(["run"]);
      await store.close();
    });

    test("entries of other writers between start and end stay, and the returned thread has them", async () => {
      const store = open();
      const at = async (): Promise<void> => void (await store.append("t", { kind: "note" }));
      const { agent: after } = await runInstructions(agent, [of("note")], { context: { at }, store, threadId: "t" });
      expect(after.thread.toArray().map(({ kind }) => kind)).toEqual(["instruction_start", "note", "instruction_end"]);
      await store.close();
    });
  });
