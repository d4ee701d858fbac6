import { StaleHolderError } from "heddle";
import {
  type DatabaseDriver,
  type Decision,
  type InboxState,
  MemoryDatabase,
  type StoreDriver,
  type TakenThread,
  type ThreadState,
  type ThreadWaiting,
} from "heddle/store";
import { memoryDatabaseDriver } from "../../../src/stores/memory-database.ts";

/** The operations of a sound driver of a database that are done wrongly. */
export type DatabaseMutation = (sound: DatabaseDriver, database: MemoryDatabase) => Partial<DatabaseDriver>;

/** Careless ways to divide work between processes. */
export const scheduling: Readonly<Record<string, Readonly<Record<string, DatabaseMutation>>>> = {
  handle: {
    "sees nothing of its other handles": (sound) => ({
      tenant: (name) => ({
        ...sound.tenant(name),
        changedThreads: async (position = "") => ({ threadIds: [], postedIds: [], position }),
      }),
    }),
    "does not announce commands to its other handles": (sound) => ({
      tenant(name) {
        const driver = sound.tenant(name);
        const { changedThreads } = driver;
        if (changedThreads === undefined) throw new Error("the memory driver has changedThreads");
        return { ...driver, changedThreads: async (after) => ({ ...(await changedThreads(after)), postedIds: [] }) };
      },
    }),
  },
  lease: {
    "renews an ended lease": (sound) => ({
      lease: (node, decide) =>
        sound.lease(node, ({ lease, now }) => decide({ lease: lease && { ...lease, ended: false }, now })),
    }),
    "gives a node that starts again its old incarnation": (sound) => ({
      lease: (node, decide) =>
        sound.lease(node, ({ lease, now }) => {
          const decision = decide({ lease, now });
          const incarnation = lease?.incarnation ?? 1;
          return { ...decision, ...(decision.lease && { lease: { ...decision.lease, incarnation } }) };
        }),
    }),
    "keeps leases to one handle": (sound) => ({
      lease: (node, decide) => sound.lease(`${node} ${crypto.randomUUID()}`, decide),
    }),
    "does not write that a lease has ended when its thread is claimed": (sound) => ({
      tenant: (name) => transacting(sound.tenant(name), (decide) => (state) => ({ ...decide(state), leases: [] })),
    }),
    "does not read the lease of a claim": (sound) => ({
      tenant: (name) =>
        transacting(
          sound.tenant(name),
          (decide) => (state) =>
            decide({ ...state, leases: (state.leases ?? []).filter(({ node }) => node !== state.claim?.lease?.node) }),
        ),
    }),
    "keeps no lease in a claim": (sound) => ({
      tenant: (name) =>
        transacting(sound.tenant(name), (decide) => (state) => {
          const { claim, ...decision } = decide(state);
          return { ...decision, ...(claim && { claim: { ...claim, lease: undefined } }) };
        }),
    }),
    "refuses appends when the lease has expired": (sound) => ({
      tenant: (name) =>
        transacting(sound.tenant(name), (decide) => (state) => {
          const decision = decide(state);
          const { claim, now } = state;
          if (decision.rows !== undefined && claim?.lease && claim.until <= now)
            throw new StaleHolderError("thread", claim.epoch, claim.epoch);
          return decision;
        }),
    }),
    "has a clock of its own for leases": (_, database) => ({
      lease: memoryDatabaseDriver(database, () => Date.now() + 3_600_000).lease,
    }),
    "purges leases at once": (sound) => ({
      lease: (node, decide) =>
        sound.lease(node, (state) => ({ ...decide(state), purgeBefore: Number.MAX_SAFE_INTEGER })),
    }),
  },
  counter: {
    "keeps counters to one handle": (sound) => {
      const own = crypto.randomUUID();
      return { counter: (name, decide) => sound.counter?.(`${name} ${own}`, decide) ?? Promise.reject(new Error()) };
    },
    "has one counter for all names": (sound) => ({
      counter: (_name, decide) => sound.counter?.("all", decide) ?? Promise.reject(new Error()),
    }),
    "keeps the amount of a node whose lease is over": (_, database) => ({
      counter: async (name, decide) => {
        const amounts = database.counters.get(name) ?? new Map<string, number>();
        const nodes = [...database.leases.values()].map(({ node, incarnation }) => {
          return { node, incarnation, amount: amounts.get(node) ?? 0 };
        });
        const { result, written } = decide({ nodes });
        if (written !== undefined) database.counters.set(name, amounts.set(written.node, written.amount));
        return result;
      },
    }),
    "reads and writes in two steps": (sound) => ({
      counter: async (name, decide) => {
        const seen = await sound.counter?.(name, ({ nodes }) => ({ result: nodes }));
        await new Promise((resolve) => setTimeout(resolve, 1));
        const decided = decide({ nodes: seen ?? [] });
        await sound.counter?.(name, () => ({
          result: undefined,
          ...(decided.written && { written: decided.written }),
        }));
        return decided.result;
      },
    }),
  },
  runnable: {
    "hides a command that is newer than what the holder has seen": (sound) => ({
      tenant: (name) =>
        transacting(
          sound.tenant(name),
          (decide) => (state) =>
            decide({ ...state, inboxes: changed(state.inboxes, (inbox) => ({ ...inbox, pending: [] })) }),
        ),
    }),
    "does not write what a post changes": (sound) => ({
      tenant: (name) =>
        transacting(sound.tenant(name), (decide) => (state) => {
          const { runnable = [], ...decision } = decide(state);
          return { ...decision, runnable: decision.rows === undefined ? [] : runnable };
        }),
    }),
    "does not write what a holder says without entries": (sound) => ({
      tenant: (name) =>
        transacting(sound.tenant(name), (decide) => (state) => {
          const { runnable = [], ...decision } = decide(state);
          const isNext = decision.rows === undefined && decision.commands === undefined;
          return { ...decision, runnable: isNext ? [] : runnable };
        }),
    }),
    "writes runnable rows of the thread of the append only": (sound) => ({
      tenant(name) {
        const driver = sound.tenant(name);
        return {
          ...driver,
          transact: (id, wanted, decide, inboxes) =>
            driver.transact(
              id,
              wanted,
              (state) => {
                const decision = decide(state);
                const runnable = decision.runnable?.filter(({ threadId }) => threadId === id) ?? [];
                return { ...decision, runnable };
              },
              inboxes,
            ),
        };
      },
    }),
    "forgets the agent of a thread with nothing to do": (sound) => ({
      tenant: (name) =>
        transacting(sound.tenant(name), (decide) => (state) => {
          const { runnable = [], ...decision } = decide(state);
          const rows = runnable.map(({ threadId, row }) => ({
            threadId,
            row: row.dueAt === null ? { ...row, agent: null } : row,
          }));
          return { ...decision, runnable: rows };
        }),
    }),
    "keeps the row of a deleted thread": (sound, database) => ({
      tenant: (name) => {
        const driver = sound.tenant(name);
        return {
          ...driver,
          async remove(id) {
            const row = database.tenant(name).runnable.get(id);
            const removed = await driver.remove(id);
            if (row !== undefined) database.tenant(name).runnable.set(id, row);
            return removed;
          },
        };
      },
    }),
    "gives one thread to two nodes": (sound, database) => ({
      async take(query) {
        const taken = await sound.take(query);
        for (const { tenant, threadId } of taken ?? []) database.tenant(tenant).claims.delete(threadId);
        return taken;
      },
    }),
    "does not claim with the lease": (sound, database) => ({
      async take(query) {
        const taken = await sound.take(query);
        for (const { tenant, threadId } of taken ?? []) {
          const { claims } = database.tenant(tenant);
          const claim = claims.get(threadId);
          if (claim) claims.set(threadId, { ...claim, lease: undefined });
        }
        return taken;
      },
    }),
    "takes with a lease that is over": (sound) => ({
      take: async (query) => (await sound.take(query)) ?? [],
    }),
    "takes threads that are not due yet": (_, database) => ({
      take: memoryDatabaseDriver(database, () => Date.now() + 3_600_000).take,
      lease: memoryDatabaseDriver(database, () => Date.now() + 3_600_000).lease,
    }),
    "takes threads of other tenants for a store": (sound) => ({
      tenant: (name) => ({ ...sound.tenant(name), take: (query) => sound.take(query) }),
    }),
    "takes no thread without an agent": (sound) => ({
      tenant: (name) => ({
        ...sound.tenant(name),
        take: (query) => sound.take({ ...query, tenant: name, unnamed: false }),
      }),
    }),
    "takes threads without an agent unasked": (sound) => ({ take: (query) => sound.take({ ...query, unnamed: true }) }),
    "takes threads of any agent": (sound) => ({ take: (query) => sound.take({ ...query, agents: undefined }) }),
    "takes no thread of a lease that has expired": (sound, database) => ({
      async take(query) {
        const expired = [...database.leases.values()].filter(({ ended, until }) => !ended && until <= Date.now());
        for (const lease of expired) database.leases.set(lease.node, { ...lease, until: Number.MAX_SAFE_INTEGER });
        return sound.take(query);
      },
    }),
    "takes all threads of one tenant first": (_, database) => ({
      async take(query) {
        const taken: TakenThread[] = [];
        for (const [name, data] of database.tenants) {
          const one = new MemoryDatabase();
          one.tenants.set(name, data);
          for (const [node, lease] of database.leases) one.leases.set(node, lease);
          const limit = query.limit - taken.length;
          const part = limit === 0 ? [] : await memoryDatabaseDriver(one, Date.now).take({ ...query, limit });
          if (part === undefined) return undefined;
          taken.push(...part);
        }
        return taken;
      },
    }),
    "begins each call with the same tenant": (sound) => ({
      take: (query) => sound.take({ ...query, afterTenant: "" }),
    }),
    "gives a tenant more than its share": (sound) => ({
      take: (query) => sound.take({ ...query, perTenant: Number.MAX_SAFE_INTEGER }),
    }),
    "ignores priorities": (sound) => ({
      tenant: (name) =>
        transacting(sound.tenant(name), (decide) => (state) => {
          const { runnable = [], ...decision } = decide(state);
          const rows = runnable.map(({ threadId, row }) => ({ threadId, row: { ...row, priority: 0 } }));
          return { ...decision, runnable: rows };
        }),
    }),
  },
  waiting: {
    "adds waiting calls and removes none": (sound) => ({
      tenant: (name) =>
        transacting(sound.tenant(name), (decide) => (state) => {
          const { waiting, ...decision } = decide(state);
          return { ...decision, ...(waiting && { waiting: [...(state.waiting ?? []), ...waiting] }) };
        }),
    }),
    "forgets since when a call waits": (sound) => ({
      tenant: (name) => transacting(sound.tenant(name), (decide) => (state) => decide({ ...state, waiting: [] })),
    }),
    "writes no waiting calls without entries": (sound) => ({
      tenant: (name) =>
        transacting(sound.tenant(name), (decide) => (state) => {
          const { waiting, ...decision } = decide(state);
          return { ...decision, ...(waiting && decision.rows && { waiting }) };
        }),
    }),
    "keeps the waiting calls of a deleted thread": (sound, database) => ({
      tenant(name) {
        const driver = sound.tenant(name);
        return {
          ...driver,
          async remove(id) {
            const calls = database.tenant(name).waiting.get(id);
            const removed = await driver.remove(id);
            if (calls !== undefined) database.tenant(name).waiting.set(id, calls);
            return removed;
          },
        };
      },
    }),
    "lists the calls of a thread together": (sound) => ({
      tenant: (name) =>
        listing(sound.tenant(name), (calls) => calls.toSorted((a, b) => (a.threadId < b.threadId ? -1 : 1))),
    }),
    "lists calls of every kind": (sound) => ({
      tenant(name) {
        const driver = sound.tenant(name);
        return { ...driver, waiting: async (query) => (await driver.waiting?.({ ...query, kind: undefined })) ?? [] };
      },
    }),
    "begins each page with the first call": (sound) => ({
      tenant(name) {
        const driver = sound.tenant(name);
        return { ...driver, waiting: async (query) => (await driver.waiting?.({ ...query, after: undefined })) ?? [] };
      },
    }),
    "continues a page by time only": (sound) => ({
      tenant(name) {
        const driver = sound.tenant(name);
        return {
          ...driver,
          waiting: async ({ after, ...query }) => {
            const calls = (await driver.waiting?.({ ...query, after: undefined, limit: 1000 })) ?? [];
            return calls.filter(({ call }) => after === undefined || call.since > after.since).slice(0, query.limit);
          },
        };
      },
    }),
    "lists the calls of all tenants": (sound, database) => ({
      tenant: (name) => ({
        ...sound.tenant(name),
        waiting: async (query) =>
          (
            await Promise.all([...database.tenants.keys()].map((other) => sound.tenant(other).waiting?.(query) ?? []))
          ).flat(),
      }),
    }),
  },
};

function listing(
  driver: StoreDriver,
  change: (calls: readonly ThreadWaiting[]) => readonly ThreadWaiting[],
): StoreDriver {
  return { ...driver, waiting: async (query) => change((await driver.waiting?.(query)) ?? []) };
}

function changed(inboxes: ThreadState["inboxes"], change: (inbox: InboxState) => InboxState): ThreadState["inboxes"] {
  return new Map([...inboxes].map(([id, inbox]) => [id, change(inbox)]));
}

function transacting(
  sound: StoreDriver,
  change: (decide: (state: ThreadState) => Decision<unknown>) => (state: ThreadState) => Decision<unknown>,
): StoreDriver {
  return {
    ...sound,
    transact: <Result>(...[id, wanted, decide, inboxes]: Parameters<typeof sound.transact<Result>>): Promise<Result> =>
      sound.transact(id, wanted, change(decide) as typeof decide, inboxes), // the change keeps the result
  };
}
