import { memoryStore, react, type Thread, type ThreadStore } from "heddle";
import { expect, test } from "vitest";
import { adder, CALL, cast, codeOf, stoppedAt } from "./support/runs.ts";

const THREAD = "thread_1";
const KILLS = ["before", "after"] as const;

interface DyingStore {
  readonly store: ThreadStore;
  readonly died: Promise<"killed">;
}

/** The process dies at a call of its store, before or after the store does it: from then on no call is answered. */
function dyingAt(inner: ThreadStore, number: number, when: (typeof KILLS)[number]): DyingStore {
  const { promise: died, resolve } = Promise.withResolvers<"killed">();
  const never = new Promise<never>(() => undefined);
  let calls = 0;
  const wrap = <Target extends object>(target: Target): Target =>
    new Proxy(target, {
      get: (_, key) => {
        const value: unknown = Reflect.get(target, key);
        if (key === "leases") return wrap(value as object);
        if (typeof value !== "function") return value;
        return async (...args: unknown[]) => {
          calls += 1;
          if (calls === number && when === "after") await Reflect.apply(value, target, args);
          if (calls >= number) resolve("killed");
          return calls >= number ? never : Reflect.apply(value, target, args);
        };
      },
    });
  return { store: wrap(inner), died };
}

/** A store whose clock can be set forward, so that the claim of a dead process has run out. */
function stoppedClockStore(): { readonly store: ThreadStore; readonly expireClaims: () => void } {
  let now = 1_000;
  return { store: memoryStore({ clock: () => now }), expireClaims: () => (now += 60_000) };
}

test.each(KILLS)("a process killed %s any call while it leaves a checkpoint runs no tool twice", async (when) => {
  const counts: number[] = [];
  for (let number = 1; ; number++) {
    const { store: inner, expireClaims } = stoppedClockStore();
    const { store, died } = dyingAt(inner, number, when);
    const { tools, ran } = adder();
    let token: string | undefined;
    const leaving = async (): Promise<"left"> => {
      for await (const event of react.stream("What's 2+2?", cast([CALL], { tools }).agent, {
        store,
        threadId: THREAD,
      })) {
        if (event.kind !== "checkpoint") continue;
        token = event.data.token;
        break;
      }
      return "left";
    };
    const outcome = await Promise.race([leaving(), died]);
    expireClaims();
    expect(ran).toEqual([]);
    if (token === undefined) continue;
    expect((await react.collect(token, cast(["4"], { tools }).agent, { store: inner })).text).toBe("4");
    counts.push(ran.length);
    if (outcome === "left") break;
  }
  expect(counts.at(-1)).toBe(1); // left without a kill
  expect(counts.length).toBeGreaterThan(2); // killed at the note that nothing has started, and at the release
  expect(Math.max(...counts)).toBe(1);
});

test.each(KILLS)("a process killed %s any call after a checkpoint was left runs no tool twice", async (when) => {
  const counts: number[] = [];
  for (let number = 1; ; number++) {
    const { store: inner, expireClaims } = stoppedClockStore();
    const { tools, ran } = adder();
    const token = await stoppedAt("after_llm", cast([CALL], { tools }).agent, { store: inner, threadId: THREAD });
    const { store, died } = dyingAt(inner, number, when);
    const continued = react.collect(token, cast(["4"], { tools }).agent, { store }).then(() => "ended" as const);
    const outcome = await Promise.race([continued, died]);
    expireClaims();
    const last = react.collect(token, cast(["4"], { tools }).agent, { store: inner });
    if (outcome === "ended") {
      expect(await codeOf(last)).toBe("token_superseded");
      break;
    }
    const code = await last.then(
      () => "ended",
      () => codeOf(last),
    );
    expect(["ended", "token_superseded"]).toContain(code);
    counts.push(ran.length);
  }
  expect(counts[0]).toBe(1); // nothing had started
  expect(counts.includes(0)).toBe(when === "after"); // killed right after the attempt was noted: it may have run
  expect(Math.max(...counts)).toBe(1);
});

test.each([
  ["at this revision, runs the tool", 2, ["call_a"]],
  ["at an earlier revision, closes the call", 1, []],
])("a record of 0.1 that the run was left %s, and is removed", async (_, rev, expected) => {
  const written = memoryStore();
  const { tools, ran } = adder();
  const token = await stoppedAt("after_llm", cast([CALL], { tools }).agent, { store: written, threadId: THREAD });
  const store = memoryStore();
  await store.save((await written.load(THREAD, { upToSeq: 1 })) as Thread); // 0.1 wrote no note when it stopped
  await store.putCheckpoint(`at_rest:${THREAD}`, { rev });
  expect((await react.collect(token, cast(["4"], { tools }).agent, { store })).text).toBe("4");
  expect(ran).toEqual(expected);
  expect(await store.getCheckpoint(`at_rest:${THREAD}`)).toBeUndefined();
});
