import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { HeddleError } from "heddle";
import { sqliteDatabase } from "heddle/sqlite";
import { type Lease, memoryDatabase, type ThreadDatabase } from "heddle/store";
import { expect, test } from "vitest";
import { fastFile } from "../../support/temp-folder.ts";
import { openDatabase } from "../postgres/open.ts";
import { Refusal } from "./model.ts";
import { type ScheduleCall, ScheduleModel, TTL_MS } from "./schedule-model.ts";

const THREADS = ["t1", "t2", "t3"] as const;
const thread = fc.constantFrom(...THREADS);
const id = fc.constantFrom("c1", "c2");
const agent = fc.option(fc.constantFrom("x", "y"), { nil: undefined });
const node = fc.constantFrom("n1", "n2");
/** Counted from the newest lease. */
const lease = fc.constantFrom(0, 0, 0, 1, 1, 2);

/** A call before its places are filled in from the model: epochs, leases, and commands that may wait. */
const draft = fc.oneof(
  { weight: 6, arbitrary: fc.record({ type: fc.constant("post" as const), thread, id, agent }) },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant("amend" as const), thread, id, text: fc.constantFrom("a", "b") }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("withdraw" as const), thread, id }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("delete" as const), thread }) },
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant("append" as const),
      thread,
      hasEntry: fc.boolean(),
      back: fc.option(fc.nat({ max: 1 }), { nil: undefined }),
      consumes: fc.option(id, { nil: undefined }),
      posts: fc.option(thread, { nil: undefined, freq: 1 }),
      next: fc.oneof(
        fc.constant(undefined),
        fc.constant(null),
        fc.record({
          agent,
          dueInMs: fc.constantFrom(undefined, 0, 1_000_000_000),
          priority: fc.constantFrom(undefined, -1, 1),
          /** What the holder adds to the revisions of the commands that wait; undefined when none may wait. */
          seen: fc.constantFrom(undefined, 0, 0, 1),
        }),
      ),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant("claim" as const),
      thread,
      holder: node,
      lease: fc.option(lease, { nil: undefined, freq: 2 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constantFrom("renew" as const, "release" as const),
      thread,
      back: fc.nat({ max: 1 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ type: fc.constant("start" as const), node }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constantFrom("renewLease" as const, "endLease" as const), lease }) },
  {
    weight: 8,
    arbitrary: fc.record({
      type: fc.constant("take" as const),
      lease,
      agents: fc.constantFrom(undefined, undefined, ["x"], ["x", "y"]),
      limit: fc.constantFrom(1, 2, 10),
      perTenant: fc.constantFrom(undefined, 1, 1, 2),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ type: fc.constant("wait" as const), ms: fc.constantFrom(1, TTL_MS - 1, TTL_MS) }),
  },
);
type Draft = typeof draft extends fc.Arbitrary<infer One> ? One : never;

function toCall(one: Draft, model: ScheduleModel, number: number): ScheduleCall {
  const leaseOf = (back: number) => model.leases.length - 1 - back;
  switch (one.type) {
    case "append": {
      const { seen, ...next } = one.next ?? {};
      const waitsFor = model.inboxes
        .pending(one.thread)
        .flatMap(({ id, revision }) => (seen === undefined ? [] : [{ id, revision: revision + seen }]));
      return {
        type: "append",
        thread: one.thread,
        entry: one.hasEntry ? `e${number}` : undefined,
        epoch: one.back === undefined ? undefined : Math.max(0, model.epochOf(one.thread) - one.back),
        consumes: one.consumes,
        posts: one.posts === undefined ? undefined : { thread: one.posts, id: `p${number}` },
        next: one.next && { ...next, waitsFor },
      };
    }
    case "claim":
      return { ...one, lease: one.lease === undefined ? undefined : leaseOf(one.lease) };
    case "renew":
    case "release":
      return { ...one, epoch: Math.max(0, model.epochOf(one.thread) - one.back) };
    case "renewLease":
    case "endLease":
      return { ...one, lease: leaseOf(one.lease) };
    case "take":
      return { ...one, lease: leaseOf(one.lease) };
    default:
      return one;
  }
}

interface Subject {
  readonly database: ThreadDatabase;
  readonly tenant: string;
  /** Nodes of one run, because leases belong to no tenant. */
  readonly run: string;
  /** Default: that of the model. */
  readonly ttlMs?: number;
}

/** What the call returned. Times only where the clock is that of the model. */
async function perform(
  { database, tenant, run, ttlMs = TTL_MS }: Subject,
  leases: Lease[],
  call: ScheduleCall,
): Promise<unknown> {
  const store = database.tenant(tenant);
  const key = (number: number) => leases[number] ?? { node: `${run}none`, incarnation: 1 };
  switch (call.type) {
    case "post":
      return store.post(call.thread, { id: call.id, type: "ask", text: "" }, { agent: call.agent && run + call.agent });
    case "amend":
      return store.amend(call.thread, call.id, { text: call.text });
    case "withdraw":
      return store.withdraw(call.thread, call.id);
    case "delete":
      return (await store.delete(call.thread)) !== false;
    case "append": {
      const { thread: threadId, entry, epoch, consumes, posts, next } = call;
      const { rev, replayed } = await store.append(threadId, entry === undefined ? [] : { id: entry }, {
        epoch,
        consumes: consumes === undefined ? [] : [{ id: consumes, outcome: { status: "done" } }],
        posts:
          posts === undefined ? [] : [{ threadId: posts.thread, command: { id: posts.id, type: "ask", text: "" } }],
        next: next && { ...next, agent: next.agent && run + next.agent },
      });
      return { rev, replayed };
    }
    case "claim":
      return store.claim(
        call.thread,
        call.lease === undefined
          ? { holder: run + call.holder, ttlMs }
          : { holder: run + call.holder, lease: key(call.lease) },
      );
    case "renew":
      return store.renew(call.thread, call.epoch);
    case "release":
      return store.release(call.thread, call.epoch);
    case "start": {
      const started = await database.leases.start({ node: run + call.node, ttlMs });
      leases.push(started);
      return started.until;
    }
    case "renewLease":
      return (await database.leases.renew(key(call.lease))).until;
    case "endLease":
      return database.leases.end(key(call.lease));
    case "take": {
      const { limit, perTenant, agents } = call;
      const wanted = agents?.map((name) => run + name);
      const taken = await database.runnable.take({ lease: key(call.lease), agents: wanted, limit, perTenant });
      return taken.map(({ tenant: _, agent: name, ...rest }) => ({
        ...rest,
        ...(name !== undefined && { agent: name.slice(run.length) }),
      }));
    }
    case "wait":
      return undefined;
  }
}

/** Memory and SQLite have the clock of the model, and their times are compared too. */
const virtual: Readonly<Record<string, (clock: () => number) => ThreadDatabase>> = {
  memory: (clock) => memoryDatabase({ clock }),
  SQLite: (clock) => sqliteDatabase(fastFile(), { mode: "relaxed", clock }),
};

/** The first ones start two nodes, so that few calls have no lease. */
function callsUpTo(length: number): fc.Arbitrary<readonly Draft[]> {
  const starts = (["n1", "n2"] as const).map((name) => ({ type: "start" as const, node: name }));
  return fc.array(draft, { minLength: length / 2, maxLength: length }).map((calls) => [...starts, ...calls]);
}

test.each(Object.keys(virtual))(
  "%s: claims, leases and runnable threads equal the model after any calls",
  async (name) => {
    const length = name === "memory" ? 150 : 50;
    await fc.assert(
      fc.asyncProperty(callsUpTo(length), async (drafts) => {
        const model = new ScheduleModel();
        const database = virtual[name]?.(() => model.now);
        if (database === undefined) throw new Error(name);
        await expectEqual({ database, tenant: "default", run: "" }, model, drafts, (result) => result);
        await database.close();
      }),
      { numRuns: name === "memory" ? 300 : 60 },
    );
  },
);

test.each(Object.keys(virtual))("%s: a take that finds no thread ends the leases that have expired", async (name) => {
  const clock = { now: 1_000_000 };
  const database = virtual[name]?.(() => clock.now);
  if (database === undefined) throw new Error(name);
  const expired = await database.leases.start({ node: "n1", ttlMs: TTL_MS });
  clock.now += TTL_MS;
  const lease = await database.leases.start({ node: "n2", ttlMs: TTL_MS });
  expect(await database.runnable.take({ lease, limit: 1 })).toEqual([]);
  await expect(database.leases.renew(expired)).rejects.toMatchObject({ code: "lease_ended" });
  await database.close();
});

/** Postgres has its own clock: leases do not expire by themselves, all due threads are taken at once, and no time is compared. */
test("Postgres: claims, leases and runnable threads equal the model after any calls", async () => {
  const database = openDatabase();
  await fc.assert(
    fc.asyncProperty(callsUpTo(30), async (drafts) => {
      const timeless = drafts.flatMap((one): readonly Draft[] =>
        one.type === "wait"
          ? []
          : one.type === "take"
            ? [{ ...one, agents: one.agents ?? ["x", "y"], limit: 10, perTenant: undefined }]
            : [one],
      );
      const [tenant, run] = [randomUUID(), `${randomUUID()}_`];
      await expectEqual({ database, tenant, run, ttlMs: 600_000 }, new ScheduleModel(), timeless, withoutTimes);
    }),
    { numRuns: 60 },
  );
});

function withoutTimes(result: unknown): unknown {
  if (typeof result === "number") return undefined;
  if (Array.isArray(result)) return result.map((taken) => JSON.stringify(taken)).sort();
  if (typeof result === "object" && result !== null && "until" in result) return { ...result, until: undefined };
  return result;
}

async function expectEqual(
  subject: Subject,
  model: ScheduleModel,
  drafts: readonly Draft[],
  comparable: (result: unknown) => unknown,
): Promise<void> {
  const leases: Lease[] = [];
  for (const [number, one] of drafts.entries()) {
    const call = toCall(one, model, number);
    const expected = answerOf(() => model.call(call));
    const found = await perform(subject, leases, call).then(
      (result) => ({ result: comparable(result) }),
      (error: unknown) => ({ code: HeddleError.isInstance(error) ? error.code : error }),
    );
    const wanted = "result" in expected ? { result: comparable(expected.result) } : expected;
    expect(found, `call ${number}: ${JSON.stringify(call)}`).toEqual(wanted);
  }
  const store = subject.database.tenant(subject.tenant);
  for (const name of THREADS) {
    const pending = (await store.pending(name)).map(({ id, revision }) => ({ id, revision }));
    expect(pending).toEqual(model.inboxes.pending(name).map(({ id, revision }) => ({ id, revision })));
    expect((await store.load(name))?.toArray().map((entry) => entry.id)).toEqual(model.inboxes.entries.get(name));
  }
}

function answerOf(work: () => unknown): { result: unknown } | { code: unknown } {
  try {
    return { result: work() };
  } catch (error) {
    if (error instanceof Refusal) return { code: error.code };
    throw error;
  }
}
