import type { ThreadStore } from "../../stores/port.ts";
import type { ListedCall } from "../../stores/waiting-call.ts";
import { note } from "../builders.ts";
import { type CaseFixture, type ContractTests, equal, ok, rejects, until } from "./case-fixture.ts";

function storeOf({ database, tenant }: CaseFixture): ThreadStore {
  return database().tenant(tenant);
}

/** Cases: the calls that wait are listed over all threads, without claims and without reading entries. */
export const waitingCases: ContractTests = {
  "waiting calls of all threads are listed, the longest wait first": async (fixture) => {
    const { thread, fresh } = fixture;
    const [store, other] = [storeOf(fixture), storeOf(fixture)];
    const first = {
      callId: "call/1",
      kind: "approval",
      deadline: 5,
      body: { tool: "rm", input: ["é 😀", null, "\u0000"] },
    };
    await store.append(fresh("z"), note(), { waiting: [first] });
    await laterThan(store, (await store.waiting()).calls);
    await other.append(fresh("a"), [], { waiting: [{ callId: "call/1", kind: "answer" }] });
    const { calls, cursor } = await other.waiting();
    equal(cursor, undefined, "cursor");
    equal(
      calls.map(({ since, ...call }) => call),
      [
        { threadId: fresh("z"), ...first },
        { threadId: fresh("a"), callId: "call/1", kind: "answer", body: {} },
      ],
      "calls",
    );
    ok(Number(calls[0]?.since) < Number(calls[1]?.since), "since grows");
    equal(await store.load(fresh("a")), undefined, "an append without entries makes no thread");
    equal((await store.waiting({ kind: "answer" })).calls, calls.slice(1), "calls of a kind");
    equal((await store.waiting({ kind: thread })).calls, [], "calls of an unknown kind");
  },

  "an append names all waiting calls of its thread, and those that wait already keep their time": async (fixture) => {
    const { thread, fresh } = fixture;
    const store = storeOf(fixture);
    await store.append(fresh("other"), note(), { waiting: [{ callId: "c1", kind: "approval" }] });
    await store.append(thread, note(), { waiting: ["c1", "c2"].map((callId) => ({ callId, kind: "approval" })) });
    const before = await store.waiting();
    await laterThan(store, before.calls);
    await store.append(thread, note());
    equal(await store.waiting(), before, "after an append that says nothing");
    const next = [
      { callId: "c2", kind: "approval", body: { seen: true } },
      { callId: "c3", kind: "approval" },
    ];
    await store.append(thread, note(), { waiting: next });
    const { calls } = await store.waiting();
    equal(namesOf(calls), [`${fresh("other")} c1`, `${thread} c2`, `${thread} c3`], "calls");
    equal(calls[1]?.since, before.calls.find((call) => namesOf([call])[0] === `${thread} c2`)?.since, "since");
    equal(calls[1]?.body, { seen: true }, "body");
    await store.append(thread, [], { waiting: [] });
    equal(namesOf((await store.waiting()).calls), [`${fresh("other")} c1`], "calls at the end");
  },

  "a refused or retried append leaves the waiting calls": async (fixture) => {
    const { thread } = fixture;
    const store = storeOf(fixture);
    const { epoch } = await store.claim(thread, { holder: "ada", ttlMs: 600_000 });
    const entry = note({}, { id: "a" });
    await store.append(thread, entry, { epoch, waiting: [] });
    await store.append(thread, note(), { epoch, waiting: [{ callId: "c1", kind: "approval" }] });
    equal((await store.append(thread, entry, { epoch, waiting: [] })).replayed, true, "replayed");
    await store.claim(thread, { holder: "ada", ttlMs: 600_000 });
    for (const entries of [[], [note()]])
      await rejects(store.append(thread, entries, { epoch, waiting: [] }), { code: "stale_holder" }, "append");
    equal(namesOf((await store.waiting()).calls), [`${thread} c1`], "calls");
  },

  "pages of waiting calls follow each other": async (fixture) => {
    const { fresh } = fixture;
    const store = storeOf(fixture);
    const names: string[] = [];
    for (const thread of ["t1", "t2", "t3"].map(fresh)) {
      const waiting = ["b", "a", "c"].map((callId) => ({ callId, kind: "approval" }));
      await store.append(thread, note(), { waiting });
      names.push(...waiting.map(({ callId }) => `${thread} ${callId}`));
    }
    const seen: ListedCall[] = [];
    for (let cursor: string | undefined, pages = 0; pages < 20; pages++) {
      const page = await store.waiting({ limit: 2, ...(cursor !== undefined && { cursor }) });
      ok(page.calls.length <= 2, "the size of a page");
      seen.push(...page.calls);
      cursor = page.cursor;
      if (cursor === undefined) break;
    }
    equal(namesOf(seen).toSorted(), names.toSorted(), "calls");
    equal(seen, (await store.waiting()).calls, "order");
  },

  "waiting calls belong to a tenant, and end with their thread": async (fixture) => {
    const { database, thread, fresh } = fixture;
    const store = storeOf(fixture);
    const theirs = database().tenant(fresh("them"));
    const waiting = [{ callId: "c1", kind: "approval" }];
    await store.append(thread, note(), { waiting });
    await theirs.append(thread, note(), { waiting });
    await theirs.delete(thread);
    equal((await theirs.waiting()).calls, [], "their calls");
    equal(namesOf((await store.waiting()).calls), [`${thread} c1`], "our calls");
    await store.delete(thread);
    equal((await store.waiting()).calls, [], "calls of a deleted thread");
  },

  "what is no waiting call is refused": async (fixture) => {
    const { thread } = fixture;
    const store = storeOf(fixture);
    const invalid = { code: "invalid_options" };
    const call = { callId: "c1", kind: "approval" };
    for (const waiting of [
      [{ ...call, callId: "" }],
      [{ ...call, kind: "\u0000" }],
      [{ ...call, deadline: -1 }],
      [call, call],
    ])
      await rejects(store.append(thread, note(), { waiting }), invalid, "waiting");
    const body = { n: Number.NaN };
    await rejects(store.append(thread, note(), { waiting: [{ ...call, body }] }), { code: "not_json" }, "body");
    for (const options of [{ limit: 0 }, { kind: "" }, { cursor: "x" }, { cursor: "[1]" }])
      await rejects(store.waiting(options), invalid, "options");
    equal(await store.load(thread), undefined, "thread");
  },
};

function namesOf(calls: readonly ListedCall[]): readonly string[] {
  return calls.map(({ threadId, callId }) => `${threadId} ${callId}`);
}

/** Waits until the store's clock is past the time of these calls. */
async function laterThan(store: ThreadStore, calls: readonly ListedCall[]): Promise<void> {
  const last = Math.max(...calls.map(({ since }) => since));
  await until(async () => {
    const { until: end } = await store.claim("clock", { holder: "clock", ttlMs: 1 });
    return end - 1 > last ? true : undefined;
  });
}
