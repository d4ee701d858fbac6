import type { Usage } from "../../agent/model-call.ts";
import type { ModelUsage, UsageDay } from "../../stores/usage-day.ts";
import type { EntryInput } from "../../thread/entry.ts";
import { note, user } from "../builders.ts";
import { type ContractTests, equal, rejects } from "./case-fixture.ts";

const DAY_MS = 86_400_000;

/** Cases: sums of asks and tokens, by day, model, owner and thread. */
export const usageCases: ContractTests = {
  "asks and calls are added up by model": async ({ store, thread, fresh, open }) => {
    equal(await store.usage(), [], "before");
    await store.append(thread, [note(), note({ call: "none" })]);
    equal(await store.usage(), [], "without an ask or a call");
    await store.append(thread, [ask("r1"), call("acme:a/b", { inputTokens: 10, outputTokens: 2, cacheReadTokens: 4 })]);
    await store.append(fresh("other"), ask("r1"));
    const others = { cacheWriteTokens: 1, reasoningTokens: 3 };
    await store.append(fresh("other"), call("acme:a/b", { inputTokens: 5, ...others }));
    await store.append(fresh("other"), call("acme:c", {}, "error"));
    const both = { inputTokens: 15, outputTokens: 2, cacheReadTokens: 4, ...others };
    const models = [counted("acme:a/b", 2, both), counted("acme:c", 1)];
    equal(withoutDay(await (await open()).usage()), { asks: 2, models }, "all");
    const ofOther = { asks: 1, models: [counted("acme:a/b", 1, { inputTokens: 5, ...others }), counted("acme:c", 1)] };
    equal(withoutDay(await store.usage({ threadId: fresh("other") })), ofOther, "of a thread");
    equal(await store.usage({ threadId: fresh("missing") }), [], "of a missing thread");
    const { updatedAt = 0 } = (await store.list()).threads[0] ?? {};
    equal(await store.usage({ since: updatedAt + 2 * DAY_MS }), [], "of later days");
    equal(await store.usage({ until: updatedAt - 2 * DAY_MS }), [], "of earlier days");
  },

  "messages of a loop without an agent count too": async ({ store, thread }) => {
    const usage = { inputTokens: 3 };
    const answer = { role: "assistant", content: "y", call: { model: "m", usage } };
    const steer = { role: "user", content: "z", steer: "now" };
    await store.append(thread, [
      user("x", { refs: { requestId: "r1" } }),
      user("no request"),
      { kind: "message", payload: answer },
      { kind: "message", payload: steer },
    ]);
    equal(withoutDay(await store.usage()), { asks: 1, models: [counted("m", 1, usage)] }, "usage");
    equal((await store.list()).threads[0]?.counts, { asks: 2, answers: 1 }, "counts of the list");
  },

  "usage stays with the owner of its time": async ({ store, thread, fresh }) => {
    await store.append(thread, [ask("r1")]);
    await store.append(thread, [ask("r2"), call("m", { inputTokens: 1 })], { owner: "ada" });
    await store.setOwner(thread, "bob");
    await store.append(thread, [ask("r3"), ask("r4"), ask("r5")]);
    await store.append(fresh("other"), ask("r1"), { owner: "bob" });
    equal(
      withoutDay(await store.usage({ owner: "ada" })),
      { asks: 1, models: [counted("m", 1, { inputTokens: 1 })] },
      "of ada",
    );
    equal(withoutDay(await store.usage({ owner: "bob" })), { asks: 4, models: [] }, "of bob");
    equal(withoutDay(await store.usage({ owner: "bob", threadId: thread })), { asks: 3, models: [] }, "of both");
    equal((await store.usage())[0]?.asks, 6, "of all");
  },

  "a replay, a refused append and a save count nothing": async ({ store, thread, open, fresh }) => {
    const batch = [ask("r1", { id: "e1" }), call("m", { inputTokens: 7 }, "note", { id: "e2" })];
    for (let n = 0; n < 2; n++) await store.append(thread, batch);
    await rejects(store.append(thread, ask("r2"), { expectedRev: 0 }), { code: "conflict" }, "append");
    const copy = await open({ tenant: fresh("copy") });
    const loaded = await store.load(thread);
    if (loaded !== undefined) await copy.save(loaded);
    equal(await copy.usage(), [], "after a save");
    const expected = { asks: 1, models: [counted("m", 1, { inputTokens: 7 })] };
    equal(withoutDay(await store.usage()), expected, "usage");
  },

  "a fork counts from the fork on": async ({ store, thread, fresh }) => {
    await store.append(thread, [ask("r1"), call("m", { inputTokens: 1 })]);
    for (const atSeq of [1, -1]) {
      const { id } = await store.fork(thread, { atSeq, newId: fresh(`fork${atSeq + 1}`) });
      equal(await store.usage({ threadId: id }), [], "at first");
      await store.append(id, ask("r2"));
      equal(withoutDay(await store.usage({ threadId: id })), { asks: 1, models: [] }, "then");
    }
    equal((await store.usage())[0]?.asks, 3, "of all");
  },

  "the usage of a deleted thread loses its thread only": async ({ store, thread, fresh }) => {
    const ids = [thread, fresh("second"), fresh("third")];
    for (const id of ids) await store.append(id, [ask("r1"), call("m", { outputTokens: 2 })], { owner: "ada" });
    const before = await store.usage({ owner: "ada" });
    for (const id of ids.slice(0, 2)) await store.delete(id);
    equal(await store.usage({ threadId: thread }), [], "of the thread");
    equal(await store.usage({ owner: "ada" }), before, "of the owner");
    await store.append(thread, ask("r2"));
    equal(withoutDay(await store.usage({ threadId: thread })), { asks: 1, models: [] }, "of a new thread");
  },

  "appends at the same time are all counted": async ({ store, thread, open, fresh }) => {
    const stores = [store, await open()];
    const entries = (n: number) => [ask(`r${n}`), call(`m${n % 2}`, { inputTokens: n })];
    const appends = Array.from({ length: 40 }, (_, n) =>
      stores[n % 2]?.append(n % 4 < 2 ? thread : fresh("other"), entries(n)),
    );
    await Promise.all(appends);
    const models = [counted("m0", 20, { inputTokens: 380 }), counted("m1", 20, { inputTokens: 400 })];
    equal(withoutDay(await store.usage()), { asks: 40, models }, "usage");
  },

  "a large append is counted": async ({ store, thread }) => {
    const answers = Array.from({ length: 1001 }, (_, n) => call("m", { inputTokens: n }));
    await store.append(thread, [ask("r1"), ...answers], { owner: "ada" });
    const models = [counted("m", 1001, { inputTokens: 500_500 })];
    equal(withoutDay(await store.usage({ owner: "ada" })), { asks: 1, models }, "usage");
  },

  "counts and names that cannot be are left out": async ({ store, thread }) => {
    const wrong: readonly unknown[] = [-1, 0.5, "7", 1e12, Number.MAX_SAFE_INTEGER, null];
    for (const inputTokens of wrong) await store.append(thread, call("m", { inputTokens, outputTokens: 1 } as object));
    for (const model of ["", "\0", "m".repeat(9000), undefined])
      await store.append(thread, call(model, { inputTokens: 1 }));
    const models = [counted("m", 6, { outputTokens: 6 }), counted("unknown", 4, { inputTokens: 4 })];
    equal(withoutDay(await store.usage()), { asks: 0, models }, "usage");
  },

  "since and until name days of the store's clock": async ({ open, thread }) => {
    let now = 20_000 * DAY_MS;
    const store = await open({ clock: () => now });
    const { entries } = await store.append(thread, note());
    const { updatedAt } = (await store.list()).threads[0] ?? {};
    if (entries[0]?.at !== updatedAt) return; // this store ignores the clock of the test
    const offsets = [0, DAY_MS - 1, DAY_MS, 3 * DAY_MS];
    for (const offset of offsets) {
      now = 20_000 * DAY_MS + offset;
      await store.append(thread, ask(`r${offset}`));
    }
    const day = (n: number, asks: number): UsageDay => ({ day: `2024-10-0${n + 4}`, asks, models: [] });
    const at = (n: number) => 20_000 * DAY_MS + n * DAY_MS + 5;
    equal(await store.usage(), [day(0, 2), day(1, 1), day(3, 1)], "all");
    equal(await store.usage({ since: at(1) }), [day(1, 1), day(3, 1)], "since");
    equal(await store.usage({ until: at(1) }), [day(0, 2), day(1, 1)], "until");
    equal(await store.usage({ since: at(1), until: at(2), threadId: thread }), [day(1, 1)], "both");
  },
};

function ask(requestId: string, extras: Partial<EntryInput> = {}): EntryInput {
  const refs = { requestId, runId: requestId };
  return { ...extras, kind: "ai_message", payload: { role: "user", content: "hi", ...refs }, refs };
}

/** An entry with the record of a model call. */
function call(
  model: string | undefined,
  usage: Usage,
  kind = "ai_message",
  extras: Partial<EntryInput> = {},
): EntryInput {
  return {
    ...extras,
    kind,
    payload: { role: "assistant", content: "", call: { ...(model !== undefined && { model }), usage } },
  };
}

function counted(model: string, calls: number, usage: Usage = {}): ModelUsage {
  const none = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };
  return { model, calls, ...none, ...usage };
}

/** All days as one, because a case may run at midnight. */
function withoutDay(days: readonly UsageDay[]): Omit<UsageDay, "day"> {
  const models = new Map<string, ModelUsage>();
  for (const own of days.flatMap((day) => day.models)) {
    const { model, ...counts } = models.get(own.model) ?? counted(own.model, 0);
    const sums = Object.entries(counts).map(([name, count]) => [name, count + (own[name as keyof typeof counts] ?? 0)]);
    models.set(model, { model, ...(Object.fromEntries(sums) as typeof counts) }); // the names are those of `counts`
  }
  return { asks: days.reduce((sum, { asks }) => sum + asks, 0), models: [...models.values()] };
}
