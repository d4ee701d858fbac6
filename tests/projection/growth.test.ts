import { type Entry, type EntryInput, type Message, project, Thread } from "heddle";
import { foldLane } from "heddle/core";
import { validateMessages } from "heddle/providers";
import { replace, summary, toolCall, toolResult, user } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { Exchange } from "../../src/projection/history/block.ts";
import { UnansweredCalls, UndoLog } from "../../src/projection/history/history-indexes.ts";
import { shownCallIds } from "../../src/projection/render/render-block.ts";
import { given, told } from "./given.ts";

/** How often anything of a value was read. */
interface Reads {
  count: number;
}

/** The value as it is, counting every read of a property of it, however deep. */
function watched<T>(value: T, reads: Reads): T {
  if (typeof value !== "object" || value === null) return value;
  const plain = Array.isArray(value)
    ? value.map((item) => watched(item, reads))
    : Object.fromEntries(Object.entries(value).map(([key, item]) => [key, watched(item, reads)]));
  const get = (target: object, key: string | symbol): unknown => {
    reads.count++;
    return Reflect.get(target, key);
  };
  return new Proxy(plain, { get }) as T;
}

/** The thread with its entries watched. */
function watchedThread(entries: readonly EntryInput[], reads: Reads): Thread {
  const thread = given(...entries);
  const { id, createdAt, metadata } = thread;
  const parts = thread.toArray().map((entry): Entry => watched(entry, reads));
  return Thread.assemble({ id, createdAt, metadata, firstSeq: 0, base: undefined, entries: parts });
}

const of = <T>(count: number, make: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n));
const unnamed = (): EntryInput => ({ kind: "tool_result", payload: { name: "look", result: "found" } });
const asking = (id: (n: number) => string, count: number): EntryInput[] =>
  of(count, (n) => [user("look"), toolCall(id(n), "look", {})]).flat();
const policy = { maxInputTokens: 1e9 };
const looking = (entries: (count: number) => readonly EntryInput[]) => (count: number, reads: Reads) => {
  project({ thread: watchedThread(entries(count), reads), policy, tokenCounter: counting(reads) });
};
const folding = (entries: (count: number) => readonly EntryInput[]) => (count: number, reads: Reads) => {
  foldLane(watchedThread(entries(count), reads), "default");
};
const checking = (messages: (count: number) => readonly Message[]) => (count: number, reads: Reads) => {
  validateMessages(watched(messages(count), reads), "anthropic");
};

function counting(reads: Reads) {
  return {
    name: "one",
    count: () => {
      reads.count++;
      return 1;
    },
  };
}

const place = { seq: 0, index: undefined, open: 0, position: 0 };
const refers = { callId: undefined, requestId: undefined, fingerprint: undefined, isSteered: false };
const naming = (count: number, reads: Reads) => {
  const calls = of(count, (n) => watched({ id: `c${n}`, name: "look", arguments: {} }, reads));
  const item = {
    ...place,
    ...refers,
    type: "assistant",
    content: "",
    calls,
    bareCall: false,
    isPaused: false,
  } as const;
  return { item, calls, block: Exchange.of(item, { ...place, lastSeq: 0, earlierIds: -1 }) };
};
const answering = (count: number, reads: Reads) => {
  const { item, calls } = naming(count, reads);
  const unanswered = new UnansweredCalls(new UndoLog());
  for (const [block, call] of calls.entries()) unanswered.add({ block, slot: 0, call, by: item });
  const names = { toolCallId: undefined, name: "look" };
  const result = { ...place, ...refers, ...names, type: "result", content: "found", isError: false } as const;
  expect(of(count, () => unanswered.take(result)?.block)).toEqual(of(count, (n) => count - 1 - n));
};

const exchange = (n: number): Message[] => [
  { role: "assistant", content: "", toolCalls: [{ id: `c${n}`, name: "look", arguments: {} }] },
  { role: "tool", toolCallId: `c${n}`, name: "look", content: "found" },
];

describe("twice as much is no more than about twice the work", () => {
  test.each<[string, (count: number, reads: Reads) => void]>([
    ["calls of one exchange", looking((n) => [user("look"), ...of(n, (at) => toolCall(`c${at}`, "look", {}))])],
    [
      "results of one exchange",
      looking((n) => [
        user("look"),
        ...of(n, (at) => toolCall(`c${at}`, "look", {})),
        ...of(n, (at) => toolResult(`c${at}`, "look", "found")),
      ]),
    ],
    ["results that name no call, long after", looking((n) => [...asking((at) => `c${at}`, n), ...of(n, unnamed)])],
    ["calls of one id that nobody answers", looking((n) => asking(() => "c", n))],
    ["replaces on a long lane", folding((n) => [...of(n, () => user("hi")), ...of(n, (at) => replace("default", at))])],
    [
      "replaces between summaries",
      folding((n) => [...of(n, () => user("hi")), ...of(n, (at) => [summary(0, at), replace("default", at)]).flat()]),
    ],
    ["ids of the calls of one exchange", (n, reads) => void shownCallIds(naming(n, reads).block, false)],
    ["calls that results find by name", answering],
    ["exchanges to be checked", checking((n) => [{ role: "user", content: "look" }, ...of(n, exchange).flat()])],
  ])("%s", (_, work) => {
    const readsOf = (count: number): number => {
      const reads = { count: 0 };
      work(count, reads);
      return reads.count;
    };
    expect(readsOf(800) / readsOf(400)).toBeLessThan(2.5);
  });
});

// Copies of a list cannot be seen from outside: these say no more than that a big one is right.
describe("a big one is answered", () => {
  const big = 5_000;

  test("an exchange of very many calls, answered in another order", () => {
    const calls = of(big, (n) => toolCall(`c${n}`, "look", {}));
    const results = of(big, (n) => toolResult(`c${n}`, "look", `found ${n}`)).reverse();
    const { messages } = project({ thread: given(user("look"), ...calls, ...results), policy });
    expect(messages).toHaveLength(big + 2);
    expect([messages[2], messages[big + 1]]).toMatchObject([{ content: "found 0" }, { content: `found ${big - 1}` }]);
  });

  test("very many calls of one id, answered from the newest on", () => {
    const results = of(2, (n) => toolResult("c", "look", `found ${n}`));
    const thread = given(...asking(() => "c", big), ...results);
    const said = told(project({ thread, policy }));
    expect(said).toHaveLength(3 * big);
    expect(said.at(-1)).toMatch(/: found 0$/);
    expect(said.at(-4)).toMatch(/: found 1$/);
  });

  test("very many late results that name no call", () => {
    const results = of(
      big,
      (n): EntryInput => ({ kind: "tool_result", payload: { name: "look", result: `found ${n}` } }),
    );
    const said = told(project({ thread: given(...asking((n) => `c${n}`, big), ...results), policy }));
    expect([said[2], said.at(-1)]).toEqual([`tool c0: found ${big - 1}`, `tool c${big - 1}: found 0`]);
  });
});
