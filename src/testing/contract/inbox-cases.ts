import type { ThreadStore } from "../../stores/port.ts";
import { note, notes } from "../builders.ts";
import type { ContractTests } from "./case-fixture.ts";
import { equal, firstItems, ok, present, rejects, sameJsonText, shortPause, until } from "./case-fixture.ts";

/** A claim that does not expire during any case, in milliseconds. */
const LONG_TTL_MS = 600_000;

const done = { status: "done" } as const;
const refused = { status: "refused", reason: "too late" } as const;

/** Cases: commands wait in the inbox of a thread, in order, and each is posted once. */
export const inboxCases: ContractTests = {
  "a command can be posted before its thread exists": async ({ store, open, thread }) => {
    equal(await store.post(thread, { id: "c1", type: "ask", text: "hi" }), { replayed: false }, "result");
    equal(await store.load(thread), undefined, "thread");
    equal((await store.list()).threads, [], "list");
    const [command, ...others] = await (await open()).pending(thread);
    const { postedAt, ...rest } = present(command, "command");
    equal(rest, { id: "c1", type: "ask", body: { text: "hi" }, revision: 0 }, "command");
    ok(Number.isSafeInteger(postedAt) && postedAt > 0, "postedAt is a time");
    equal(others, [], "other commands");
  },

  "pending commands come in the order in which they were posted": async ({ store, open, thread }) => {
    const other = await open();
    const ids = ["z", "a", "m", "b"];
    for (const [n, id] of ids.entries()) await (n % 2 === 0 ? store : other).post(thread, { id, type: "ask" });
    equal(await pendingIds(store, thread), ids, "ids");
    await store.append(thread, [], { consumes: [{ id: "a", outcome: done }] });
    await store.post(thread, { id: "c", type: "ask" });
    equal(await pendingIds(other, thread), ["z", "m", "b", "c"], "ids");
  },

  "many commands can wait": async ({ store, thread }) => {
    const ids = Array.from({ length: 520 }, (_, n) => `c${n}`);
    await Promise.all(ids.map((id) => store.post(thread, { id, type: "ask" })));
    equal((await pendingIds(store, thread)).toSorted(), ids.toSorted(), "ids");
  },

  "a body comes back as it was posted": async ({ store, thread }) => {
    const body = { z: [1, -0.5, null, { deep: "\u0000 \u2028 é 😀" }], a: "", ["__proto__x"]: true };
    await store.post(thread, { id: "c1", type: "type with spaces, é", ...body });
    const [command] = await store.pending(thread);
    sameJsonText(command?.body, body, "body");
    equal(command?.type, "type with spaces, é", "type");
  },

  "the same command again is a replay, other content under its id is refused": async ({
    store,
    open,
    thread,
    fresh,
  }) => {
    const other = await open();
    await store.post(thread, { id: "c1", type: "ask", text: "hi", n: 1 });
    equal(await other.post(thread, { n: 1, text: "hi", type: "ask", id: "c1" }), { replayed: true }, "retry");
    const reused = { code: "command_id_reused", threadId: thread, commandId: "c1" };
    await rejects(other.post(thread, { id: "c1", type: "ask", text: "hello", n: 1 }), reused, "other body");
    await rejects(store.post(thread, { id: "c1", type: "steer", text: "hi", n: 1 }), reused, "other type");
    equal((await store.pending(thread)).length, 1, "commands");
    equal(await store.post(fresh("other"), { id: "c1", type: "steer" }), { replayed: false }, "in another thread");
  },

  "of equal posts at once one is new": async ({ store, open, thread }) => {
    const other = await open();
    const results = await Promise.all(
      Array.from({ length: 8 }, (_, n) => (n % 2 === 0 ? store : other).post(thread, { id: "c1", type: "ask" })),
    );
    equal(results.filter(({ replayed }) => !replayed).length, 1, "new ones");
    equal((await store.pending(thread)).length, 1, "commands");
  },

  "what is no command is refused": async ({ store, thread }) => {
    await rejects(store.post(thread, { id: "a/b", type: "ask" }), { code: "invalid_id" }, "id");
    await rejects(store.post("a/b", { id: "c1", type: "ask" }), { code: "invalid_id" }, "thread id");
    await rejects(store.post(thread, { id: "c1", type: "" }), { code: "invalid_options" }, "type");
    await rejects(store.post(thread, { id: "c1", type: "ask", n: Number.NaN }), { code: "not_json" }, "body");
    await store.post(thread, { id: "c1", type: "ask" });
    const twice = [done, refused].map((outcome) => ({ id: "c1", outcome }));
    await rejects(store.append(thread, [], { consumes: twice }), { code: "invalid_options" }, "consumed twice");
    equal(await pendingIds(store, thread), ["c1"], "ids");
  },

  "a command may be as large as a payload": async ({ open, thread }) => {
    const store = await open({ maxEntryChars: 1_000 });
    await store.post(thread, { id: "c1", type: "ask", text: "x".repeat(980) });
    const tooLarge = { code: "too_large", commandId: "c2" };
    await rejects(store.post(thread, { id: "c2", type: "ask", text: "x".repeat(1_000) }), tooLarge, "post");
    await rejects(store.amend(thread, "c1", { text: "x".repeat(1_000) }), { code: "too_large" }, "amend");
    equal(await pendingIds(store, thread), ["c1"], "ids");
  },

  "a pending command can be amended": async ({ store, open, thread }) => {
    const other = await open();
    await store.post(thread, { id: "c1", type: "steer", text: "left" });
    await store.post(thread, { id: "c2", type: "steer" });
    equal(await other.amend(thread, "c1", { text: "right" }), { replayed: false }, "amend");
    equal(await store.amend(thread, "c1", { text: "right" }), { replayed: true }, "the same amendment");
    const [command] = await store.pending(thread);
    equal([command?.id, command?.body, command?.revision], ["c1", { text: "right" }, 1], "command");
    equal(await store.post(thread, { id: "c1", type: "steer", text: "left" }), { replayed: true }, "the post again");
    const missing = { code: "command_not_found", threadId: thread, commandId: "c9" };
    await rejects(store.amend(thread, "c9", {}), missing, "amend of no command");
  },

  "a holder that read a command before it was amended cannot consume it": async ({ store, thread }) => {
    await store.post(thread, { id: "c1", type: "steer", text: "left" });
    const revision = present((await store.pending(thread))[0], "command").revision;
    await store.amend(thread, "c1", { text: "right" });
    const append = (known: number) =>
      store.append(thread, note({}, { id: "c1/0" }), { consumes: [{ id: "c1", outcome: done, revision: known }] });
    await rejects(append(revision), { code: "command_amended", commandId: "c1" }, "append");
    equal(await store.load(thread), undefined, "thread");
    equal((await append(revision + 1)).rev, 1, "rev");
  },

  "a pending command can be withdrawn": async ({ store, open, thread }) => {
    const other = await open();
    const withdrawn = { status: "withdrawn" };
    await store.post(thread, { id: "c1", type: "ask" });
    equal(await other.withdraw(thread, "c1"), { replayed: false, outcome: withdrawn }, "withdraw");
    equal(await store.withdraw(thread, "c1"), { replayed: true, outcome: withdrawn }, "again");
    equal(await store.pending(thread), [], "pending");
    equal(await store.post(thread, { id: "c1", type: "ask" }), { replayed: true, outcome: withdrawn }, "post again");
    const settled = { code: "command_settled", threadId: thread, commandId: "c1", outcome: withdrawn };
    await rejects(store.amend(thread, "c1", { n: 1 }), settled, "amend");
    await rejects(store.append(thread, note(), { consumes: [{ id: "c1", outcome: done }] }), settled, "append");
    await rejects(store.withdraw(thread, "c2"), { code: "command_not_found" }, "withdraw of no command");
    equal(await store.load(thread), undefined, "thread");
  },

  "a deleted thread has no commands, and a fork does not inherit them": async ({ store, thread, fresh }) => {
    await store.append(thread, note());
    await store.post(thread, { id: "c1", type: "ask" });
    await store.fork(thread, { atSeq: 0, newId: fresh("fork") });
    equal(await store.pending(fresh("fork")), [], "pending of the fork");
    await store.delete(thread);
    equal(await store.pending(thread), [], "pending");
    await rejects(store.outcome(thread, "c1"), { code: "command_not_found" }, "outcome");
    await store.post(fresh("never"), { id: "c1", type: "ask" });
    equal(await store.delete(fresh("never")), false, "delete of a thread that never was");
    equal(await store.pending(fresh("never")), [], "its commands");
  },
};

/** Cases: entries and outcomes are one transaction, and a command has one outcome. */
export const consumeCases: ContractTests = {
  "an append writes entries and outcome together": async ({ store, open, thread }) => {
    await store.post(thread, { id: "c1", type: "ask" });
    const consumes = [{ id: "c1", outcome: { ...done, seq: 0 } }];
    const { rev, replayed } = await store.append(thread, note({ n: 1 }, { id: "c1/0" }), { consumes });
    equal([rev, replayed], [1, false], "result");
    const other = await open();
    equal(await other.pending(thread), [], "pending");
    equal(await other.outcome(thread, "c1"), { ...done, seq: 0 }, "outcome");
    const known = { replayed: true, outcome: { ...done, seq: 0 } };
    equal(await other.post(thread, { id: "c1", type: "ask" }), known, "the post again");
  },

  "a refused append leaves the commands as they were": async ({ store, thread, fresh }) => {
    await store.append(thread, note({}, { id: "known" }));
    await store.post(thread, { id: "c1", type: "ask" });
    const consumes = [{ id: "c1", outcome: done }];
    const posts = [{ threadId: fresh("other"), command: { id: "p1", type: "tell" } }];
    const { epoch } = await store.claim(thread, { holder: "ada", ttlMs: LONG_TTL_MS });
    await rejects(store.append(thread, note(), { expectedRev: 7, consumes, posts }), { code: "conflict" }, "revision");
    const stale = { code: "stale_holder" };
    await rejects(store.append(thread, note(), { epoch: epoch + 1, consumes, posts }), stale, "epoch");
    await rejects(store.append(thread, [], { epoch: epoch + 1, consumes, posts }), stale, "epoch, no entries");
    const reused = { code: "entry_id_reused" };
    await rejects(store.append(thread, note({ n: 1 }, { id: "known" }), { consumes, posts }), reused, "entry id");
    const unknown = { code: "command_not_found", commandId: "c2" };
    const both = [...consumes, { id: "c2", outcome: done }];
    await rejects(store.append(thread, note(), { consumes: both, posts }), unknown, "unknown command");
    const missing = { code: "thread_not_found" };
    await store.post(fresh("none"), { id: "c1", type: "ask" });
    await rejects(store.append(fresh("none"), [], { create: false, consumes, posts }), missing, "no thread");
    equal(await pendingIds(store, thread), ["c1"], "ids");
    equal(await pendingIds(store, fresh("none")), ["c1"], "ids of no thread");
    equal(await store.pending(fresh("other")), [], "posts");
    equal((await store.load(thread))?.rev, 1, "rev");
  },

  "an outcome without entries leaves the thread as it was": async ({ store, thread, fresh }) => {
    await store.append(thread, notes(2), { metadata: { status: "idle" } });
    const { epoch } = await store.claim(thread, { holder: "ada", ttlMs: LONG_TTL_MS });
    await store.post(thread, { id: "c1", type: "ask" });
    const before = [await store.list(), await store.verify(thread), await firstItems(2, store.feed())];
    const result = await store.append(thread, [], { epoch, consumes: [{ id: "c1", outcome: refused }] });
    equal(result, { rev: 2, entries: [], replayed: false }, "result");
    equal([await store.list(), await store.verify(thread), await firstItems(2, store.feed())], before, "thread");
    equal(await store.outcome(thread, "c1"), refused, "outcome");
    await store.append(fresh("later"), note());
    const third = (await firstItems(3, store.feed()))[2];
    equal(third?.threadId, fresh("later"), "the next item of the feed");
    await store.post(fresh("none"), { id: "c1", type: "ask" });
    await store.append(fresh("none"), [], { consumes: [{ id: "c1", outcome: refused }] });
    equal(await store.load(fresh("none")), undefined, "a thread that does not exist");
  },

  "one outcome twice is a replay, two outcomes are a conflict": async ({ store, open, thread }) => {
    const other = await open();
    const { epoch } = await store.claim(thread, { holder: "ada", ttlMs: LONG_TTL_MS });
    await store.post(thread, { id: "c1", type: "ask" });
    await store.append(thread, [], { epoch, consumes: [{ id: "c1", outcome: refused }] });
    await store.claim(thread, { holder: "ada", ttlMs: LONG_TTL_MS });
    const again = await other.append(thread, [], { epoch, consumes: [{ id: "c1", outcome: { ...refused } }] });
    equal(again, { rev: 0, entries: [], replayed: true }, "a replay under a new claim");
    const settled = { code: "command_settled", threadId: thread, commandId: "c1", outcome: refused };
    await rejects(other.append(thread, [], { consumes: [{ id: "c1", outcome: done }] }), settled, "another outcome");
    await rejects(store.withdraw(thread, "c1"), settled, "withdraw");
    equal(await store.outcome(thread, "c1"), refused, "outcome");
  },

  "a batch with outcomes can be retried": async ({ store, thread, fresh }) => {
    await store.post(thread, { id: "c1", type: "ask" });
    const batch = [note({}, { id: "c1/0" }), note({}, { id: "c1/1" })];
    const posts = [{ threadId: fresh("parent"), command: { id: "p1", type: "tell" } }];
    const options = { consumes: [{ id: "c1", outcome: done }], posts };
    const first = await store.append(thread, batch, options);
    const retry = await store.append(thread, batch, options);
    equal(retry, { ...first, replayed: true }, "retry");
    const other = { consumes: [{ id: "c1", outcome: refused }] };
    await rejects(store.append(thread, batch, other), { code: "command_settled" }, "another outcome");
    equal(await pendingIds(store, fresh("parent")), ["p1"], "posts");
  },

  "new entries for a command that has an outcome are refused": async ({ store, thread }) => {
    await store.post(thread, { id: "c1", type: "ask" });
    const consumes = [{ id: "c1", outcome: done }];
    await store.append(thread, note(), { consumes });
    const settled = { code: "command_settled", outcome: done };
    await rejects(store.append(thread, note(), { consumes }), settled, "append");
    equal((await store.load(thread))?.rev, 1, "rev");
  },

  "of many outcomes at once one is written": async ({ store, open, thread }) => {
    const other = await open();
    await store.post(thread, { id: "c1", type: "ask" });
    const attempts = Array.from({ length: 8 }, (_, n) => {
      const handle = n % 2 === 0 ? store : other;
      if (n % 4 === 3) return handle.withdraw(thread, "c1").then(() => "withdrawn");
      const consumes = [{ id: "c1", outcome: { status: `by ${n}` } }];
      return handle.append(thread, note({ n }), { consumes }).then(() => `by ${n}`);
    });
    const results = await Promise.allSettled(attempts);
    const { status } = await other.outcome(thread, "c1");
    const won = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
    equal([...new Set(won)], [status], "winner");
    equal((await store.load(thread))?.rev ?? 0, status === "withdrawn" ? 0 : 1, "rev");
  },

  "the ids of entries may be made of a command's": async ({ store, thread }) => {
    const { entries } = await store.append(thread, [note({}, { id: "c1/0" }), note({}, { id: "c1/12" })]);
    equal((await store.load(thread))?.toArray(), entries, "entries");
    for (const id of ["c1/x", "c1/", "/0", "a/b/0", "c1/01"])
      await rejects(store.append(thread, note({}, { id })), { code: "invalid_id" }, id);
  },

  "a command that the log has answered is not posted again": async ({ store, thread }) => {
    await store.append(thread, [note(), note({}, { id: "c1/0" })]);
    const logged = { status: "logged", seq: 1 };
    equal(await store.post(thread, { id: "c1", type: "ask" }), { replayed: true, outcome: logged }, "post");
    equal(await store.outcome(thread, "c1"), logged, "outcome");
    equal(await store.pending(thread), [], "pending");
  },

  "an append posts commands to other threads": async ({ store, open, thread, fresh }) => {
    await store.post(fresh("parent"), { id: "first", type: "ask" });
    const posts = [
      { threadId: fresh("parent"), command: { id: "p1", type: "child ended", child: thread } },
      { threadId: thread, command: { id: "p1", type: "to myself" } },
    ];
    await store.append(thread, note(), { posts });
    const other = await open();
    equal(await pendingIds(other, fresh("parent")), ["first", "p1"], "ids");
    equal(await pendingIds(other, thread), ["p1"], "ids of its own");
    await store.append(thread, note(), { posts: posts.slice(0, 1) });
    equal((await store.pending(fresh("parent"))).length, 2, "posted once");
    const [post] = posts;
    const changed = [{ threadId: fresh("parent"), command: { id: "p1", type: "other" } }];
    const reused = { code: "command_id_reused", threadId: fresh("parent"), commandId: "p1" };
    await rejects(store.append(thread, note(), { posts: changed }), reused, "other content");
    equal((await store.load(thread))?.rev, 2, "rev");
    const only = await store.append(thread, [], { posts: [present(post, "post")] });
    equal([only.rev, only.replayed], [2, true], "an append of posts alone");
  },

  "appends that post to each other's inbox all get in": async ({ store, open, fresh }) => {
    const other = await open();
    const appends = Array.from({ length: 40 }, (_, n) => {
      const [from, to] = n % 2 === 0 ? ["a", "b"] : ["b", "a"];
      const posts = [{ threadId: fresh(to ?? ""), command: { id: `p${n}`, type: "tell" } }];
      return (n % 4 < 2 ? store : other).append(fresh(from ?? ""), note({ n }), { posts });
    });
    await Promise.all(appends);
    equal((await store.pending(fresh("a"))).length, 20, "commands of a");
    equal((await store.pending(fresh("b"))).length, 20, "commands of b");
  },
};

/** Cases: callers wait for outcomes, which are kept for some time. */
export const outcomeCases: ContractTests = {
  "a wait gets the outcome that another store writes": async ({ store, open, thread }) => {
    const other = await open();
    for (const id of ["c1", "c2", "c3"]) await store.post(thread, { id, type: "ask" });
    const waiting = Promise.all(["c1", "c2", "c3"].map((id) => store.outcome(thread, id)));
    waiting.catch(() => {}); // it is awaited later
    await shortPause();
    await store.append(thread, [], { consumes: [{ id: "c2", outcome: refused }] });
    await other.append(thread, note(), { consumes: [{ id: "c1", outcome: done }] });
    await shortPause();
    await other.withdraw(thread, "c3");
    equal(await waiting, [done, refused, { status: "withdrawn" }], "outcomes");
  },

  "the wait for an outcome ends with its signal, or with the store": async ({ store, open, thread }) => {
    await store.post(thread, { id: "c1", type: "ask" });
    const stop = new AbortController();
    const [stopped, kept] = [store.outcome(thread, "c1", { signal: stop.signal }), store.outcome(thread, "c1")];
    kept.catch(() => {}); // it is awaited later
    const reason = new Error("stopped");
    stop.abort(reason);
    await rejects(stopped, { code: "store_aborted", cause: reason }, "outcome");
    const closing = await open();
    const closed = closing.outcome(thread, "c1");
    closed.catch(() => {}); // it is awaited later
    await closing.close();
    await rejects(closed, { code: "store_closed" }, "outcome of a closed store");
    await store.withdraw(thread, "c1");
    equal(await kept, { status: "withdrawn" }, "outcome");
    await rejects(store.outcome(thread, "c9"), { code: "command_not_found", commandId: "c9" }, "no command");
  },

  "outcomes are kept for a time, then the log answers": async ({ open, thread }) => {
    const store = await open({ keepOutcomesMs: 1 });
    for (const id of ["c1", "c2", "waiting"]) await store.post(thread, { id, type: "ask" });
    await store.append(thread, note({}, { id: "c1/0" }), { consumes: [{ id: "c1", outcome: done }] });
    await store.append(thread, [], { consumes: [{ id: "c2", outcome: refused }] });
    let posted = 0;
    const answer = await until(async () => {
      await store.post(thread, { id: `more ${posted++}`, type: "ask" });
      const { outcome } = await store.post(thread, { id: "c1", type: "ask" });
      return outcome?.status === "logged" ? outcome : undefined;
    });
    equal(answer, { status: "logged", seq: 0 }, "outcome");
    equal(await store.outcome(thread, "c1"), answer, "outcome that is waited for");
    const settled = { code: "command_settled", outcome: answer };
    await rejects(store.withdraw(thread, "c1"), settled, "withdraw");
    await until(async () => {
      await store.post(thread, { id: `more ${posted++}`, type: "ask" });
      return (await store.post(thread, { id: "c2", type: "ask" })).replayed ? undefined : true;
    });
    equal((await pendingIds(store, thread))[0], "waiting", "a command that waits is kept");
  },

  "outcomes are not removed before their time": async ({ store, thread, fresh }) => {
    await store.post(thread, { id: "c1", type: "ask" });
    await store.append(thread, [], { consumes: [{ id: "c1", outcome: done }] });
    await shortPause();
    for (let n = 0; n < 3; n++) await store.post(fresh("other"), { id: `c${n}`, type: "ask" });
    equal(await store.post(thread, { id: "c1", type: "ask" }), { replayed: true, outcome: done }, "post");
  },
};

async function pendingIds(store: ThreadStore, threadId: string): Promise<readonly string[]> {
  return (await store.pending(threadId)).map(({ id }) => id);
}
