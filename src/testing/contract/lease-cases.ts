import type { ThreadDatabase } from "../../stores/database.ts";
import { LeaseEndedError } from "../../stores/errors.ts";
import type { Lease } from "../../stores/lease.ts";
import type { ThreadStore } from "../../stores/port.ts";
import { note } from "../builders.ts";
import { type ContractTests, equal, ok, rejects, until } from "./case-fixture.ts";

/** A lease that does not expire during any case, in milliseconds. */
const LONG_TTL_MS = 600_000;
/** A lease that expires soon. */
const SHORT_TTL_MS = 50;

/** Cases: a node has one lease for all of its claims, by the database's clock. */
export const leaseCases: ContractTests = {
  "a claim with a lease lasts as long as the lease": async ({ tenant, database, thread, fresh }) => {
    const [here, there] = [database(), database()];
    const ada = await here.leases.start({ node: fresh("ada"), ttlMs: LONG_TTL_MS });
    const bob = await there.leases.start({ node: fresh("bob"), ttlMs: LONG_TTL_MS });
    const { epoch, until: end } = await here.tenant(tenant).claim(thread, { holder: "ada", lease: ada });
    equal(end, ada.until, "until");
    const held = { code: "thread_held", holder: "ada", until: ada.until };
    await rejects(there.tenant(tenant).claim(thread, { holder: "bob", lease: bob }), held, "claim");
    await rejects(there.tenant(tenant).claim(thread, { holder: "bob", ttlMs: LONG_TTL_MS }), held, "claim by time");
    await here.leases.end(ada);
    const next = await there.tenant(tenant).claim(thread, { holder: "bob", lease: bob });
    ok(next.epoch > epoch, "the epoch grows");
    await rejects(here.tenant(tenant).append(thread, note(), { epoch }), { code: "stale_holder" }, "append");
    equal((await there.tenant(tenant).append(thread, note(), { epoch: next.epoch })).rev, 1, "rev");
  },

  "one renewal keeps the claims of all tenants": async ({ tenant, database, thread, fresh }) => {
    const node = database();
    const stores = [node.tenant(tenant), node.tenant(fresh("them"))];
    const lease = await node.leases.start({ node: fresh("ada"), ttlMs: LONG_TTL_MS });
    const claims = await Promise.all(stores.map((store) => store.claim(thread, { holder: "ada", lease })));
    const renewed = await until(async () => {
      const next = await node.leases.renew(lease);
      return next.until > lease.until ? next : undefined;
    });
    equal(renewed.incarnation, lease.incarnation, "incarnation");
    for (const [n, store] of stores.entries()) {
      const claim = store.claim(thread, { holder: "bob", ttlMs: LONG_TTL_MS });
      await rejects(claim, { code: "thread_held", until: renewed.until }, "claim");
      const { epoch = 0 } = claims[n] ?? {};
      equal(await store.renew(thread, epoch), { epoch, until: renewed.until }, "renewed claim");
    }
  },

  "the end of a lease refuses no append, another claim does": async ({ tenant, database, thread, fresh }) => {
    const [here, there] = [database(), database()];
    const store = here.tenant(tenant);
    const { lease, epoch } = await claimAndExpire(here, store, fresh("ada"), thread);
    equal((await store.append(thread, note(), { epoch })).rev, 1, "rev after the lease expired");
    const other = await there.tenant(tenant).claim(thread, { holder: "bob", ttlMs: LONG_TTL_MS });
    const stale = { code: "stale_holder", epoch, current: other.epoch };
    await rejects(store.append(thread, note(), { epoch }), stale, "append after another claim");
    await rejects(here.leases.renew(lease), { code: "lease_ended", node: lease.node }, "renewal");
    equal((await store.load(thread))?.rev, 1, "rev");
  },

  "an expired lease can be renewed while no other node has taken a thread": async ({
    tenant,
    database,
    thread,
    fresh,
  }) => {
    const [here, there] = [database(), database()];
    const { lease, epoch } = await claimAndExpire(here, here.tenant(tenant), fresh("ada"), thread);
    await until(async () => {
      await here.leases.renew(lease);
      const claim = await here.tenant(tenant).renew(thread, epoch).catch(ignoreEnd);
      const refused = await there.tenant(tenant).claim(thread, { holder: "ada", ttlMs: LONG_TTL_MS }).catch(ignoreEnd);
      return claim ?? refused;
    });
  },

  "a lease that was seen as ended is never renewed": async ({ tenant, database, thread, fresh }) => {
    const [here, there] = [database(), database()];
    const store = here.tenant(tenant);
    const { lease, epoch } = await claimAndExpire(here, store, fresh("ada"), thread);
    await there.tenant(tenant).claim(thread, { holder: "bob", ttlMs: LONG_TTL_MS });
    for (const handle of [here, there])
      await rejects(handle.leases.renew(lease), { code: "lease_ended", incarnation: lease.incarnation }, "renewal");
    await rejects(store.claim(thread, { holder: "ada", lease }), { code: "lease_ended" }, "claim");
    await rejects(store.renew(thread, epoch), { code: "stale_holder" }, "renewal of the claim");
  },

  "all threads of an ended lease can be claimed, and each is fenced by its own claim": async ({
    tenant,
    database,
    fresh,
  }) => {
    const [here, there] = [database(), database()];
    const store = here.tenant(tenant);
    const lease = await here.leases.start({ node: fresh("ada"), ttlMs: LONG_TTL_MS });
    const first = await store.claim(fresh("t1"), { holder: "ada", lease });
    const second = await store.claim(fresh("t2"), { holder: "ada", lease });
    await here.leases.end(lease);
    await there.tenant(tenant).claim(fresh("t1"), { holder: "bob", ttlMs: LONG_TTL_MS });
    await rejects(store.append(fresh("t1"), note(), { epoch: first.epoch }), { code: "stale_holder" }, "append");
    equal((await store.append(fresh("t2"), note(), { epoch: second.epoch })).rev, 1, "rev of the thread that is free");
    await there.tenant(tenant).claim(fresh("t2"), { holder: "bob", ttlMs: LONG_TTL_MS });
  },

  "a node that starts again ends its earlier lease": async ({ tenant, database, thread, fresh }) => {
    const [here, there] = [database(), database()];
    const node = fresh("ada");
    const first = await here.leases.start({ node, ttlMs: LONG_TTL_MS });
    await here.tenant(tenant).claim(thread, { holder: "ada", lease: first });
    const second = await there.leases.start({ node, ttlMs: LONG_TTL_MS });
    ok(second.incarnation > first.incarnation, "incarnations grow");
    await rejects(here.leases.renew(first), { code: "lease_ended", node }, "renewal of the first");
    await here.leases.end(first);
    equal((await there.leases.renew(second)).incarnation, second.incarnation, "renewal of the second");
    await there.tenant(tenant).claim(thread, { holder: "bob", lease: second });
  },

  "a holder that claims again under another lease ends its earlier one": async ({ tenant, database, fresh }) => {
    const [here, there] = [database(), database()];
    const store = here.tenant(tenant);
    const first = await here.leases.start({ node: fresh("n1"), ttlMs: LONG_TTL_MS });
    await store.claim(fresh("t1"), { holder: "ada", lease: first });
    await store.claim(fresh("t1"), { holder: "ada", lease: first });
    const { epoch } = await store.claim(fresh("t2"), { holder: "ada", lease: first });
    equal((await here.leases.renew(first)).incarnation, first.incarnation, "a claim under the same lease ends nothing");
    const second = await there.leases.start({ node: fresh("n2"), ttlMs: LONG_TTL_MS });
    await store.release(fresh("t2"), epoch);
    await there.tenant(tenant).claim(fresh("t2"), { holder: "ada", lease: second });
    equal((await here.leases.renew(first)).incarnation, first.incarnation, "a claim of a free thread ends nothing");
    await there.tenant(tenant).claim(fresh("t1"), { holder: "ada", lease: second });
    await rejects(here.leases.renew(first), { code: "lease_ended" }, "renewal of the earlier lease");
    equal((await there.leases.renew(second)).incarnation, second.incarnation, "incarnation");
  },

  "a store has the leases of its database": async ({ tenant, store, open, database, thread, fresh }) => {
    const stores = [store, await open(), database().tenant(tenant)];
    for (const [n, { leases }] of stores.entries()) {
      if (leases === undefined) continue; // a driver of one tenant may have none
      const lease = await leases.start({ node: fresh(`n${n}`), ttlMs: LONG_TTL_MS });
      const { until: end } = await store.claim(thread, { holder: "ada", lease });
      equal(end, lease.until, "until");
      const held = { code: "thread_held", holder: "ada", until: lease.until };
      await rejects(database().tenant(tenant).claim(thread, { holder: "bob", ttlMs: 1 }), held, "claim");
      await leases.end(lease);
      await rejects(database().leases.renew(lease), { code: "lease_ended" }, "renewal");
    }
  },

  "of many starts at once each has an incarnation of its own": async ({ database, fresh }) => {
    const handles = [database(), database()];
    const node = fresh("ada");
    const starts = Array.from({ length: 8 }, (_, n) => handles[n % 2]?.leases.start({ node, ttlMs: LONG_TTL_MS }));
    const leases = await Promise.all(starts);
    equal(new Set(leases.map((lease) => lease?.incarnation)).size, leases.length, "incarnations");
  },

  "a claim needs a lease that lasts": async ({ tenant, database, thread, fresh }) => {
    const { leases, tenant: of } = database();
    const store = of(tenant);
    const ended = await leases.start({ node: fresh("ada"), ttlMs: LONG_TTL_MS });
    await leases.end(ended);
    await leases.end(ended);
    await rejects(store.claim(thread, { holder: "ada", lease: ended }), { code: "lease_ended" }, "ended");
    const unknown = { node: fresh("stranger"), incarnation: 1 };
    await rejects(store.claim(thread, { holder: "ada", lease: unknown }), { code: "lease_ended" }, "unknown");
    await rejects(leases.renew(unknown), { code: "lease_ended" }, "renewal");
    const lease = await leases.start({ node: fresh("ada"), ttlMs: LONG_TTL_MS });
    const both = { holder: "ada", lease, ttlMs: 1 };
    await rejects(store.claim(thread, both), { code: "invalid_options" }, "lease and ttlMs");
    await rejects(store.claim(thread, { holder: "ada" }), { code: "invalid_options" }, "neither");
    await rejects(leases.start({ node: "a/b", ttlMs: 1 }), { code: "invalid_id" }, "node");
    await rejects(leases.start({ node: fresh("ada"), ttlMs: 0 }), { code: "invalid_options" }, "ttlMs");
    equal((await store.claim(thread, { holder: "ada", lease })).epoch, 1, "epoch: no claim was made before");
  },
};

/** Cases: nodes share a limited number, such as the calls that may run at once. */
export const counterCases: ContractTests = {
  "a counter with a limit is divided among the nodes": async ({ database, fresh }) => {
    const [here, there] = [database(), database()];
    const name = fresh("openai");
    const [ada, bob] = await Promise.all([
      here.leases.start({ node: fresh("ada"), ttlMs: LONG_TTL_MS }),
      there.leases.start({ node: fresh("bob"), ttlMs: LONG_TTL_MS }),
    ]);
    const asks = (lease: Lease, amount: number) => here.leases.count({ lease, name, amount, limit: 10 });
    equal(await asks(ada, 7), { amount: 7, others: [] }, "the first node");
    equal(await asks(bob, 7), { amount: 3, others: [7] }, "what is left");
    equal(await asks(ada, 20), { amount: 7, others: [3] }, "more");
    equal(await asks(ada, 2), { amount: 2, others: [3] }, "less");
    equal(await there.leases.count({ lease: bob, name, amount: 7, limit: 10 }), { amount: 7, others: [2] }, "freed");
    equal(await asks(ada, 0), { amount: 0, others: [7] }, "none");
    equal(await asks(bob, 10), { amount: 10, others: [] }, "all");
    const other = await here.leases.count({ lease: ada, name: fresh("other"), amount: 99 });
    equal(other, { amount: 99, others: [] }, "another counter, without a limit");
  },

  "the sum of a counter never passes its limit": async ({ database, fresh, random }) => {
    const nodes = [database(), database(), database()];
    const name = fresh("openai");
    const limit = 10;
    const held = [0, 0, 0];
    const leases = await Promise.all(
      nodes.map(({ leases: of }, n) => of.start({ node: fresh(`node${n}`), ttlMs: LONG_TTL_MS })),
    );
    const calls = Array.from({ length: 60 }, () => ({ of: random.below(3), wanted: random.below(12) }));
    const run = async (of: number): Promise<void> => {
      for (const { wanted } of calls.filter((call) => call.of === of)) {
        const lease = leases[of];
        if (lease === undefined) return;
        held[of] = Math.min(held[of] ?? 0, wanted); // it uses no more before it has asked
        const count = await nodes[of]?.leases.count({ lease, name, amount: wanted, limit });
        held[of] = count?.amount ?? 0;
        const sum = held.reduce((all, amount) => all + amount, 0);
        ok(sum <= limit, `the sum is ${sum}`);
      }
    };
    await Promise.all([run(0), run(1), run(2)]);
  },

  "the amount of a node ends with its lease": async ({ database, fresh }) => {
    const [here, there] = [database(), database()];
    const name = fresh("openai");
    const bob = await there.leases.start({ node: fresh("bob"), ttlMs: LONG_TTL_MS });
    const ended = await here.leases.start({ node: fresh("ada"), ttlMs: LONG_TTL_MS });
    await here.leases.count({ lease: ended, name, amount: 4, limit: 10 });
    await here.leases.end(ended);
    await rejects(here.leases.count({ lease: ended, name, amount: 1, limit: 10 }), { code: "lease_ended" }, "ended");
    equal(await there.leases.count({ lease: bob, name, amount: 10, limit: 10 }), { amount: 10, others: [] }, "ended");
    await there.leases.count({ lease: bob, name, amount: 0, limit: 10 });
    const short = await here.leases.start({ node: fresh("eve"), ttlMs: SHORT_TTL_MS });
    await here.leases.count({ lease: short, name, amount: 4, limit: 10 }).catch(ignoreEnd);
    await until(async () => {
      const { amount } = await there.leases.count({ lease: bob, name, amount: 10, limit: 10 });
      return amount === 10 ? true : undefined;
    });
  },

  "a counter refuses bad amounts": async ({ database, fresh }) => {
    const { leases } = database();
    const lease = await leases.start({ node: fresh("ada"), ttlMs: LONG_TTL_MS });
    const count = { lease, name: fresh("openai"), amount: 1 };
    const bad = { amount: -1, limit: 0.5, name: "a/b" };
    await rejects(leases.count({ ...count, amount: bad.amount }), { code: "invalid_options" }, "amount");
    await rejects(leases.count({ ...count, limit: bad.limit }), { code: "invalid_options" }, "limit");
    await rejects(leases.count({ ...count, name: bad.name }), { code: "invalid_id" }, "name");
    equal(await leases.count({ ...count, limit: 0 }), { amount: 0, others: [] }, "a limit of none");
  },
};

/** Claims a thread with a short lease, and waits until the lease has expired by the database's clock. */
async function claimAndExpire(
  { leases }: ThreadDatabase,
  store: ThreadStore,
  node: string,
  thread: string,
): Promise<{ readonly lease: Lease; readonly epoch: number }> {
  const lease = await leases.start({ node, ttlMs: SHORT_TTL_MS });
  const { epoch } = await until(async () => {
    await leases.renew(lease);
    return store.claim(thread, { holder: "ada", lease }).catch(ignoreEnd);
  });
  await until(async () => ((await store.renew(thread, epoch).catch(ignoreEnd)) === undefined ? true : undefined));
  return { lease, epoch };
}

/** Ignores that a short lease expired before it was used. */
function ignoreEnd(error: unknown): undefined {
  if (!LeaseEndedError.isInstance(error)) throw error;
}
