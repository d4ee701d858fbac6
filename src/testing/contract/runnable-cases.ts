import type { ThreadDatabase } from "../../stores/database.ts";
import type { Lease } from "../../stores/lease.ts";
import type { ThreadStore } from "../../stores/port.ts";
import type { TakenThread } from "../../stores/runnable.ts";
import { note } from "../builders.ts";
import { type CaseFixture, type ContractTests, equal, ok, present, rejects, until } from "./case-fixture.ts";

/** Longer than any case, in milliseconds. */
const LONG_MS = 600_000;

const done = { status: "done" } as const;

/** A node of the case, for an agent that only this case uses. */
interface Node {
  readonly agent: string;
  readonly lease: Lease;
  readonly store: ThreadStore;
  readonly database: ThreadDatabase;
  /** Takes at most `limit` threads of the agent; by default all. */
  take(limit?: number, perTenant?: number): Promise<readonly TakenThread[]>;
  /** Posts a command for the agent. */
  post(thread: string, id: string): Promise<unknown>;
  /** Takes the only thread that is due. */
  takeOne(): Promise<TakenThread>;
}

async function startNode({ tenant, database, fresh }: CaseFixture, name: string, ttlMs = LONG_MS): Promise<Node> {
  const agent = fresh("agent");
  const handle = database();
  const lease = await handle.leases.start({ node: fresh(name), ttlMs });
  const store = handle.tenant(tenant);
  const take: Node["take"] = (limit = 100, perTenant = undefined) =>
    handle.runnable.take({ lease, agents: [agent], limit, perTenant });
  return {
    agent,
    lease,
    store,
    database: handle,
    take,
    post: (thread, id) => store.post(thread, { id, type: "ask" }, { agent }),
    async takeOne() {
      const [taken, ...others] = await take();
      equal(others, [], "other threads");
      return present(taken, "a thread that is due");
    },
  };
}

/** Cases: threads that have something to do are given to one node each. */
export const runnableCases: ContractTests = {
  "a post makes a thread runnable for its agent, before the thread exists": async (fixture) => {
    const { tenant, thread, fresh } = fixture;
    const [ada, bob] = [await startNode(fixture, "ada"), await startNode(fixture, "bob")];
    await ada.post(thread, "c1");
    const other = { lease: bob.lease, agents: [fresh("other")], limit: 10 };
    equal(await bob.database.runnable.take(other), [], "threads of another agent");
    const { epoch, ...taken } = await bob.takeOne();
    equal(taken, { tenant, threadId: thread, agent: bob.agent }, "thread");
    equal([await ada.take(), await bob.take()], [[], []], "a thread that is held");
    await rejects(ada.store.claim(thread, { holder: "ada", lease: ada.lease }), { code: "thread_held" }, "claim");
    equal((await bob.store.append(thread, note(), { epoch })).rev, 1, "rev");
  },

  "a released thread is due until its holder says what comes next": async (fixture) => {
    const { thread } = fixture;
    const node = await startNode(fixture, "ada");
    await node.post(thread, "c1");
    const first = await node.takeOne();
    await node.store.release(thread, first.epoch);
    const second = await node.takeOne();
    ok(second.epoch > first.epoch, "the epoch grows");
    const consumes = [{ id: "c1", outcome: done }];
    await node.store.append(thread, note(), { epoch: second.epoch, consumes, next: null });
    await node.store.release(thread, second.epoch);
    equal(await node.take(), [], "threads with nothing to do");
    await node.post(thread, "c2");
    equal((await node.takeOne()).agent, node.agent, "the agent is remembered");
  },

  "a thread is due when its holder says": async (fixture) => {
    const { thread, fresh } = fixture;
    const node = await startNode(fixture, "ada");
    await node.store.append(thread, note(), { next: { agent: node.agent, dueInMs: LONG_MS } });
    await node.store.append(fresh("soon"), note(), { next: { agent: node.agent, dueInMs: 1 } });
    await node.store.append(fresh("idle"), note(), { next: null });
    equal((await until(async () => (await node.take())[0])).threadId, fresh("soon"), "thread");
    await node.store.append(thread, [], { next: { agent: node.agent } });
    equal((await node.takeOne()).threadId, thread, "thread that is due at once");
    equal((await node.store.load(thread))?.rev, 1, "rev after an append without entries");
  },

  "the holder does not hide a command that it has not seen": async (fixture) => {
    const { thread } = fixture;
    const [holder, sender] = [await startNode(fixture, "ada"), await startNode(fixture, "bob")];
    await sender.post(thread, "c1");
    const { epoch } = await holder.takeOne();
    const waitsFor = await holder.store.pending(thread);
    await sender.post(thread, "c2");
    const later = { agent: holder.agent, dueInMs: LONG_MS, waitsFor };
    await holder.store.append(thread, note(), { epoch, next: later });
    await holder.store.release(thread, epoch);
    const again = await holder.takeOne();
    await holder.store.append(thread, note(), { epoch: again.epoch, next: null });
    await holder.store.release(thread, again.epoch);
    const third = await holder.takeOne();
    const seen = { ...later, waitsFor: await holder.store.pending(thread) };
    await holder.store.append(thread, [], { epoch: third.epoch, next: seen });
    await holder.store.release(thread, third.epoch);
    equal(await holder.take(), [], "threads whose commands may wait");
    await sender.store.amend(thread, "c1", { text: "now" });
    const last = await holder.takeOne();
    await holder.store.append(thread, [], { epoch: last.epoch, next: seen });
    await holder.store.release(thread, last.epoch);
    equal((await holder.takeOne()).threadId, thread, "a thread whose command was amended");
  },

  "a command that the same append answers or posts counts": async (fixture) => {
    const { thread, fresh } = fixture;
    const node = await startNode(fixture, "ada");
    await node.post(thread, "c1");
    const { epoch } = await node.takeOne();
    const consumes = [{ id: "c1", outcome: done }];
    const posts = [{ threadId: fresh("child"), command: { id: "c1", type: "ask" }, agent: node.agent }];
    await node.store.append(thread, note(), { epoch, consumes, posts, next: null });
    await node.store.release(thread, epoch);
    const child = await node.takeOne();
    equal(child.threadId, fresh("child"), "thread");
    const command = { id: "c2", type: "ask" };
    await node.store.append(thread, note(), { posts: [{ threadId: thread, command }], next: null });
    equal((await node.takeOne()).threadId, thread, "thread that posted to itself");
  },

  "a refused append says nothing about what comes next": async (fixture) => {
    const { thread } = fixture;
    const node = await startNode(fixture, "ada");
    await node.post(thread, "c1");
    const { epoch } = await node.takeOne();
    await node.store.release(thread, epoch);
    const second = await node.takeOne();
    const consumes = [{ id: "c1", outcome: done }];
    for (const entries of [[], [note()]])
      await rejects(
        node.store.append(thread, entries, { epoch, consumes, next: null }),
        { code: "stale_holder" },
        "append",
      );
    await node.store.release(thread, second.epoch);
    equal((await node.takeOne()).threadId, thread, "thread");
  },

  "a retried append says nothing about what comes next": async (fixture) => {
    const { thread } = fixture;
    const node = await startNode(fixture, "ada");
    const entry = note({}, { id: "a" });
    await node.store.append(thread, entry, { next: null });
    await node.store.append(thread, note(), { next: { agent: node.agent } });
    equal((await node.store.append(thread, entry, { next: null })).replayed, true, "replayed");
    equal((await node.takeOne()).threadId, thread, "thread");
  },

  "threads of an ended lease are runnable at once": async (fixture) => {
    const { thread, fresh } = fixture;
    const [ada, bob] = [await startNode(fixture, "ada"), await startNode(fixture, "bob")];
    for (const id of [thread, fresh("t2")]) await ada.post(id, "c1");
    const held = await ada.take();
    equal(await bob.take(), [], "threads that are held");
    await ada.database.leases.end(ada.lease);
    await rejects(ada.take(), { code: "lease_ended" }, "take with an ended lease");
    equal((await bob.take()).length, 2, "threads");
    for (const { threadId, epoch } of held)
      await rejects(ada.store.append(threadId, note(), { epoch }), { code: "stale_holder" }, "append");
  },

  "threads of an expired lease are taken, and it is not renewed": async (fixture) => {
    const { thread } = fixture;
    const [ada, bob] = [await startNode(fixture, "ada", 50), await startNode(fixture, "bob")];
    await ada.post(thread, "c1");
    const { epoch } = await until(async () => {
      await ada.database.leases.renew(ada.lease);
      return (await ada.take().catch(() => []))[0];
    });
    await until(async () => (await bob.take())[0]);
    await rejects(ada.store.append(thread, note(), { epoch }), { code: "stale_holder" }, "append");
    await rejects(ada.database.leases.renew(ada.lease), { code: "lease_ended" }, "renewal");
  },

  "a thread that is claimed for a time is not taken": async (fixture) => {
    const { thread } = fixture;
    const node = await startNode(fixture, "ada");
    const { epoch } = await node.store.claim(thread, { holder: "someone", ttlMs: LONG_MS });
    await node.post(thread, "c1");
    equal(await node.take(), [], "threads");
    await node.store.release(thread, epoch);
    equal((await node.takeOne()).epoch, epoch + 1, "epoch");
  },

  "of many takes at once each thread goes to one node": async (fixture) => {
    const { fresh } = fixture;
    const nodes = await Promise.all(["ada", "bob", "carol"].map((name) => startNode(fixture, name)));
    const ids = Array.from({ length: 24 }, (_, n) => fresh(`t${n}`));
    await Promise.all(ids.map((id) => nodes[0]?.post(id, "c1")));
    const taken: TakenThread[] = [];
    await until(async () => {
      const rounds = await Promise.all(nodes.flatMap((node) => [node.take(5), node.take(5)]));
      taken.push(...rounds.flat());
      return taken.length >= ids.length ? true : undefined;
    });
    equal(taken.map(({ threadId }) => threadId).toSorted(), ids.toSorted(), "threads");
    equal(new Set(taken.map(({ epoch }) => epoch)).size, 1, "epochs: none was claimed twice");
  },

  "tenants take turns, and none has more than its share": async (fixture) => {
    const { fresh } = fixture;
    const node = await startNode(fixture, "ada");
    const small = node.database.tenant(fresh("small"));
    for (let n = 0; n < 6; n++) await node.post(fresh(`t${n}`), "c1");
    for (let n = 0; n < 3; n++) await small.post(fresh(`t${n}`), { id: "c1", type: "ask" }, { agent: node.agent });
    equal(countOf(await node.take(2), fresh("small")), 1, "first round");
    equal(countOf(await node.take(2), fresh("small")), 1, "second round");
    equal(await node.take(10, 2), [], "threads beyond the share of each tenant");
    equal(countOf(await node.take(10, 3), fresh("small")), 1, "third round");
    equal((await node.take(10)).length, 3, "what is left");
  },

  "a tenant that takes one thread after the other leaves room for others": async (fixture) => {
    const { fresh } = fixture;
    const node = await startNode(fixture, "ada");
    const tenants = ["x", "y", "z"].map(fresh);
    for (const name of tenants)
      for (let n = 0; n < 3; n++)
        await node.database.tenant(name).post(fresh(`t${n}`), { id: "c1", type: "ask" }, { agent: node.agent });
    const turns: string[] = [];
    for (let n = 0; n < 6; n++) {
      const [taken] = await node.take(1);
      const { tenant, threadId, epoch } = present(taken, "thread");
      turns.push(tenant);
      const store = node.database.tenant(tenant);
      await store.append(threadId, [], { epoch, consumes: [{ id: "c1", outcome: done }], next: null });
      await store.release(threadId, epoch);
    }
    equal(turns.toSorted(), [...tenants, ...tenants].toSorted(), "turns");
    equal(new Set(turns.slice(0, 3)).size, 3, "tenants of the first turns");
  },

  "a store gives out the threads of its tenant, and those without an agent when asked": async (fixture) => {
    const { thread, tenant, fresh } = fixture;
    const node = await startNode(fixture, "ada");
    const { runnable } = node.store;
    if (runnable === undefined) return;
    const { lease, agent } = node;
    await node.database.tenant(fresh("other")).post(thread, { id: "c1", type: "ask" }, { agent });
    await node.store.post(fresh("unnamed"), { id: "c1", type: "ask" });
    await node.post(thread, "c1");
    const ofOthers = { lease, agents: [fresh("none")], limit: 10 };
    equal(await node.database.runnable.take(ofOthers), [], "threads of an agent that has none");
    const own = await runnable.take({ lease, agents: [agent], limit: 10 });
    equal(
      own.map((one) => [one.tenant, one.threadId]),
      [[tenant, thread]],
      "threads of the agent",
    );
    const unnamed = await runnable.take({ lease, agents: [agent], unnamed: true, limit: 10 });
    equal(
      unnamed.map((one) => [one.tenant, one.threadId]),
      [[tenant, fresh("unnamed")]],
      "threads without an agent",
    );
    equal(
      (await node.take()).map((one) => one.tenant),
      [fresh("other")],
      "threads of the database",
    );
  },

  "within a tenant the highest priority comes first, then the longest wait": async (fixture) => {
    const { fresh } = fixture;
    const node = await startNode(fixture, "ada");
    for (const [name, priority] of [
      ["a", 0],
      ["b", 5],
      ["c", 0],
      ["d", -1],
    ] as const) {
      await node.store.append(fresh(name), note(), { next: { agent: node.agent, priority } });
      await node.post(fresh(name), "c1");
      const { updatedAt } = present((await node.store.list({ prefix: fresh(name) })).threads[0], "thread");
      await until(
        async () => (await node.store.append(fresh("clock"), note())).entries[0]?.at !== updatedAt || undefined,
      );
    }
    const order: string[] = [];
    for (let n = 0; n < 4; n++) order.push((await node.take(1))[0]?.threadId ?? "");
    equal(order, ["b", "a", "c", "d"].map(fresh), "order");
  },

  "a post may give its thread a priority, which lasts": async (fixture) => {
    const { fresh } = fixture;
    const node = await startNode(fixture, "ada");
    const post = (name: string, id: string, priority?: number) =>
      node.store.post(fresh(name), { id, type: "ask", content: "Hi" }, { agent: node.agent, priority });
    await post("a", "c1");
    await post("b", "c1", 5);
    await post("b", "c2");
    await post("c", "c1", 9);
    await post("c", "c2", 1);
    const order: string[] = [];
    for (let n = 0; n < 3; n++) order.push((await node.take(1))[0]?.threadId ?? "");
    equal(order, ["b", "c", "a"].map(fresh), "order");
    const half = node.store.post(fresh("d"), { id: "c1", type: "ask" }, { priority: 0.5 });
    await rejects(half, { code: "invalid_options" }, "priority");
  },

  "a deleted thread is not runnable": async (fixture) => {
    const { thread, fresh } = fixture;
    const node = await startNode(fixture, "ada");
    await node.store.append(thread, note(), { next: { agent: node.agent } });
    await node.post(fresh("none"), "c1");
    await node.store.delete(thread);
    await node.store.delete(fresh("none"));
    equal(await node.take(), [], "threads");
  },

  "what is no next and no take is refused": async (fixture) => {
    const { thread } = fixture;
    const node = await startNode(fixture, "ada");
    const invalid = { code: "invalid_options" };
    await rejects(node.store.append(thread, note(), { next: { dueInMs: -1 } }), invalid, "dueInMs");
    await rejects(node.store.append(thread, note(), { next: { priority: 0.5 } }), invalid, "priority");
    await rejects(node.store.append(thread, note(), { next: { agent: "a/b" } }), { code: "invalid_id" }, "agent");
    await rejects(node.store.post(thread, { id: "c1", type: "ask" }, { agent: "" }), { code: "invalid_id" }, "post");
    await rejects(node.take(0), invalid, "limit");
    await rejects(node.take(1, 0), invalid, "perTenant");
    equal(await node.store.load(thread), undefined, "thread");
    equal(await node.take(), [], "threads");
  },
};

function countOf(taken: readonly TakenThread[], tenant: string): number {
  return taken.filter((one) => one.tenant === tenant).length;
}
