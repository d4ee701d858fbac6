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
