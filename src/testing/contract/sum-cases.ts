import type { ThreadInfo, ThreadStore } from "../../stores/port.ts";
import type { EntryInput } from "../../thread/entry.ts";
import type { JsonValue } from "../../thread/json.ts";
import { assistant, note, notes, switchTo, user } from "../builders.ts";
import { type ContractTests, equal, ok, present } from "./case-fixture.ts";

/** Cases: what a list says of the entries of a thread. */
export const sumCases: ContractTests = {
  "a thread is listed with its first words and its counts": async ({ store, open, thread }) => {
    equal(sums(await infoOf(store, thread, [])), { counts: { asks: 0, answers: 0 } }, "without entries");
    const first = [note({ text: "not this" }), assistant("Hello"), user("Plan a  trip\nto Oslo")];
    const info = await infoOf(store, thread, first);
    equal(sums(info), { firstWords: "Plan a trip to Oslo", counts: { asks: 1, answers: 1 } }, "first");
    const later = [inRequest({ role: "user", content: "By train" }), inRequest({ role: "assistant", content: "Yes" })];
    await store.append(thread, [...later, switchTo("side"), user("Elsewhere")]);
    const after = { firstWords: "Plan a trip to Oslo", counts: { asks: 3, answers: 2 } };
    equal(sums(await infoOf(store, thread, [], { title: "Oslo" })), after, "after more entries");
    const other = await open();
    equal(sums(await infoOf(other, thread, [])), after, "from another handle");
    equal((await infoOf(other, thread, [])).title, "Oslo", "title");
    ok((await store.verify(thread)).ok, "verified");
  },

  "a message that steers is no ask, and results are no answers": async ({ store, thread }) => {
    const entries = [
      inRequest({ role: "user", content: "Go", steer: true }),
      inRequest({ role: "tool", content: "done", toolCallId: "c1" }),
      { kind: "tool_result", payload: { role: "assistant", name: "x", result: 1 } },
      inRequest({ role: "system", content: "Be brief." }),
    ];
    equal(sums(await infoOf(store, thread, entries)), { counts: { asks: 0, answers: 0 } }, "sums");
  },

  "first words are cut at a word": async ({ store, fresh }) => {
    const words = "seven letters ".repeat(10);
    const parts = [
      { type: "file", mediaType: "image/png", data: { url: "https://example.com/a.png" } },
      { type: "text", text: "What is this?" },
    ];
    const expected: readonly (readonly [JsonValue, string | undefined])[] = [
      [words, `${"seven letters ".repeat(5)}seven…`],
      ["many words ".repeat(10_000), `${"many words ".repeat(7).trimEnd()}…`], // stored as a blob
      ["é".repeat(80), "é".repeat(80)],
      ["😀".repeat(81), `${"😀".repeat(79)}…`],
      [`Hi${" ".repeat(2000)}there`, "Hi…"],
      [parts, "What is this?"],
      [parts.slice(0, 1), undefined],
      ["none \u0000 in Postgres", "none \u0000 in Postgres"],
      [{ no: "text" }, undefined],
    ];
    for (const [n, [content, first]] of expected.entries()) {
      const entry = inRequest({ role: "user", content });
      equal((await infoOf(store, fresh(String(n)), [entry])).firstWords, first, `first words ${n}`);
      ok((await store.verify(fresh(String(n)))).ok, `verified ${n}`);
    }
  },

  "a large batch is counted too": async ({ store, thread }) => {
    const batch = notes(1500).map((entry, n) => (n % 3 === 0 ? user(`ask ${n}`) : entry));
    const info = await infoOf(store, thread, batch);
    equal(sums(info), { firstWords: "ask 0", counts: { asks: 500, answers: 0 } }, "sums");
  },

  "a fork has the sums of its own entries": async ({ store, thread }) => {
    await store.append(thread, [note(), assistant("Hello"), user("one"), assistant("1"), user("two")]);
    const sumsAt = [
      { counts: { asks: 0, answers: 0 } },
      { counts: { asks: 0, answers: 0 } },
      { counts: { asks: 0, answers: 1 } },
      { firstWords: "one", counts: { asks: 1, answers: 1 } },
      { firstWords: "one", counts: { asks: 1, answers: 2 } },
      { firstWords: "one", counts: { asks: 2, answers: 2 } },
    ];
    for (const [n, expected] of sumsAt.entries()) {
      const fork = await store.fork(thread, { atSeq: n - 1 });
      equal(sums(fork), expected, `fork at ${n - 1}`);
      const { asks, answers } = expected.counts;
      const after = { firstWords: "one", ...expected, counts: { asks: asks + 1, answers } };
      equal(sums(await infoOf(store, fork.id, [user("one")])), after, `fork at ${n - 1}, continued`);
      ok((await store.verify(fork.id)).ok, `fork at ${n - 1}, verified`);
    }
  },

  "a fork from far before the end says only what it knows": async ({ store, thread }) => {
    await store.append(thread, [user("one"), ...notes(200)]);
    const fork = await store.fork(thread, { atSeq: 5 });
    equal(sums(fork), { firstWords: "one" }, "fork");
    equal(sums(await infoOf(store, fork.id, [user("two")])), { firstWords: "one" }, "continued");
    ok((await store.verify(fork.id)).ok, "verified");
  },
};

function inRequest(payload: NonNullable<EntryInput["payload"]>): EntryInput {
  return { kind: "ai_message", payload };
}

/** Appends, and returns what the list then says of the thread. */
async function infoOf(
  store: ThreadStore,
  threadId: string,
  entries: readonly EntryInput[],
  metadata: { readonly [name: string]: string } = { about: "sums" },
): Promise<ThreadInfo> {
  await store.append(threadId, entries, { metadata });
  const { threads } = await store.list();
  return present(
    threads.find(({ id }) => id === threadId),
    "thread",
  );
}

function sums({ firstWords, counts }: ThreadInfo): Pick<ThreadInfo, "firstWords" | "counts"> {
  return { ...(firstWords !== undefined && { firstWords }), ...(counts && { counts }) };
}
