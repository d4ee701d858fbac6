import {
  type ContextPolicyInput,
  type EntryInput,
  heuristic,
  memoryStore,
  project,
  projectFromStore,
  type Thread,
  type ThreadStore,
  type TokenCounter,
} from "heddle";
import type { StoreProjectionInput } from "heddle/store";
import { assistant, inLane, summary, switchTo, toolCall, toolResult, user } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { longTurn } from "../runtime/support/long-turns.ts";
import { ai, context, refusalOf } from "./given.ts";

const turns = (count: number): EntryInput[] =>
  Array.from({ length: count }, (_, n) => [
    user(`ask ${n} ${"x".repeat(n % 40)}`),
    assistant(`answer ${n} ${"y".repeat(n % 90)}`),
  ]).flat();

async function stored(entries: readonly EntryInput[]): Promise<ThreadStore> {
  const store = memoryStore();
  for (let at = 0; at < entries.length; at += 2000) await store.append("t", entries.slice(at, at + 2000));
  return store;
}

async function whole(store: ThreadStore): Promise<Thread> {
  const thread = await store.load("t");
  if (thread === undefined) throw new Error("It was not stored.");
  return thread;
}

/** A store that says how many rows were read of it, and in how many goes. */
function watched(store: ThreadStore): { readonly store: Pick<ThreadStore, "load">; readonly read: number[] } {
  const read: number[] = [];
  const load: ThreadStore["load"] = async (id, options) => {
    const thread = await store.load(id, options);
    read.push(thread === undefined ? 0 : thread.rev - thread.firstSeq);
    return thread;
  };
  return { store: { load }, read };
}

const small: ContextPolicyInput = { maxInputTokens: 500, reserveOutputTokens: 0 };

/** The same from a window as from all of the thread. */
async function expectEqual(
  entries: readonly EntryInput[],
  input: StoreProjectionInput = { policy: small },
): Promise<number[]> {
  const inner = await stored(entries);
  const { store, read } = watched(inner);
  const { projector: _, ...rest } = input;
  expect(await projectFromStore(store, "t", input)).toEqual(project({ thread: await whole(inner), ...rest }));
  return read;
}

describe("a projection from a store", () => {
  test("of 20,000 entries reads a window only, and is the projection of all of them", async () => {
    const inner = await stored(turns(10_000));
    const thread = await whole(inner);
    for (const policy of [small, {}, { maxInputTokens: 20_000 }]) {
      const { store, read } = watched(inner);
      const { meta } = await projectFromStore(store, "t", { policy });
      const rows = read.reduce((sum, count) => sum + count, 0);
      expect(meta).toMatchObject({ truncated: true, entriesTotal: 20_000 });
      const window = 20_000 - (meta.cutSeq ?? 0);
      expect(rows).toBeLessThan(4 * window + 100);
      expect(read.length).toBeLessThan(8);
      expect(meta.fingerprint).toBe(project({ thread, policy }).meta.fingerprint);
    }
  });

  test("reads as much of a long thread as of a short one", async () => {
    const rowsOf = async (count: number) => (await expectEqual(turns(count))).reduce((sum, rows) => sum + rows, 0);
    expect(await rowsOf(4000)).toBeLessThan(2 * (await rowsOf(200)));
  });

  test("reads a short thread once, and no more of it than there is", async () => {
    expect(await expectEqual(turns(3))).toEqual([6]);
  });

  test("reads on to the ask of the request that is running", async () => {
    const refs = { requestId: "r1" };
    const rounds = Array.from({ length: 150 }, (_, n) => [
      toolCall("call_0", "look", {}, { refs: { ...refs, callId: `m${n}` } }),
      toolResult("call_0", "look", `found ${n}`, { refs: { ...refs, callId: `m${n}` } }),
    ]).flat();
    await expectEqual([...turns(200), user("the ask", { refs }), ...rounds]);
  });

  test.each<[string, EntryInput[]]>([
    ["a summary far back", [...turns(100), summary(0, 150), ...turns(40)]],
    ["a summary that reaches nearly to the end", [...turns(300), summary(0, 590), user("so?")]],
    [
      "a replace with a base far back",
      [...turns(100), context([{ role: "user", content: "anew" }], { baseSeq: 20 }), ...turns(60)],
    ],
    ["a replace far back", [...turns(50), context([{ role: "user", content: "anew" }]), ...turns(100)]],
    ["another lane", [...turns(100), switchTo("side"), ...turns(5)]],
    [
      "two lanes, one after the other",
      [...turns(50), ...turns(50).map((entry) => inLane("side", entry)), ...turns(50)],
    ],
    [
      "a turn that is one long exchange",
      [
        ...turns(60),
        user("go"),
        ...Array.from({ length: 90 }, (_, n) =>
          ai("assistant", "", { toolCalls: [{ id: `c${n}`, name: "look", arguments: {} }] }),
        ),
      ],
    ],
  ])("sees what lies before the window: %s", async (_, entries) => {
    await expectEqual(entries);
    await expectEqual(entries, { policy: { ...small, window: { mode: "sliding" } } });
    await expectEqual(entries, {
      policy: { ...small, toolResults: { keepLast: 2 } },
      pending: "and?",
      system: "Be kind.",
    });
  });

  test("knows that a result may belong to a call far back, before which the edge of a summary then moves", async () => {
    const far = [...turns(20), toolCall("far", "look", {}), ...turns(40), toolResult("far", "look", "late")];
    const entries = [...far, summary(0, 110), ...turns(10)];
    const read = await expectEqual(entries, { policy: {} });
    expect(read.length).toBeGreaterThan(1);
  });

  test("answers what a new summary should cover without reading all of it", async () => {
    const policy: ContextPolicyInput = { ...small, summarization: "request_new", maxThreadTokens: 1000 };
    await expectEqual(turns(1000), { policy });
  });

  test("is refused where the projection is", async () => {
    const { store } = watched(await stored([...turns(50), user("x".repeat(4000))]));
    await expect(projectFromStore(store, "t", { policy: small })).rejects.toMatchObject({ code: "budget_overflow" });
  });

  test("of a thread that is not there says so", async () => {
    await expect(projectFromStore(memoryStore(), "t")).rejects.toMatchObject({ code: "thread_not_found" });
  });
});

describe("a tail that is loaded", () => {
  test("and does not decide what is shown says from where on to load", async () => {
    const store = await stored(turns(200));
    const tail = await store.load("t", { last: 4 });
    if (tail === undefined) throw new Error("It was not stored.");
    const refusal = refusalOf(() => project({ thread: tail, policy: small }));
    expect(refusal).toMatchObject({ code: "tail_too_short" });
    expect(refusal.neededFromSeq).toBeLessThan(396);
    expect(refusal.message).toContain(`Load the thread from seq ${refusal.neededFromSeq}`);
  });

  test("and has no start of a turn is refused before all of it is rendered, with the same estimate", async () => {
    const store = await stored(longTurn(0, 400));
    const refusalOfLast = async (last: number) => {
      const tail = (await store.load("t", { last })) ?? expect.fail("it was stored");
      let counted = 0;
      const count: TokenCounter["count"] = (text) => {
        counted++;
        return heuristic.count(text);
      };
      const tokenCounter = { ...heuristic, count };
      const refusal = refusalOf(() => project({ thread: tail, policy: { maxInputTokens: 20_000 }, tokenCounter }));
      expect(refusal.code).toBe("tail_too_short");
      return { counted, windowSeq: refusal.windowSeq ?? expect.fail("the window is cut") };
    };
    const [few, many] = [await refusalOfLast(60), await refusalOfLast(500)];
    expect(many.counted).toBeLessThan(few.counted + 10);
    expect(Math.abs(many.windowSeq - few.windowSeq)).toBeLessThan(40);
  });

  test("and does decide it gives what the whole thread gives, and counts all entries", async () => {
    const store = await stored(turns(200));
    const tail = await store.load("t", { last: 100 });
    if (tail === undefined) throw new Error("It was not stored.");
    const projection = project({ thread: tail, policy: small });
    expect(projection).toEqual(project({ thread: await whole(store), policy: small }));
    expect(projection.meta).toMatchObject({ basisRev: 400, entriesTotal: 400 });
  });
});
