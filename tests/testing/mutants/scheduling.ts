import { StaleHolderError } from "heddle";
import type { DatabaseDriver, Decision, MemoryDatabase, StoreDriver, ThreadState } from "heddle/store";
import { memoryDatabaseDriver } from "../../../src/stores/memory-database.ts";

/** The operations of a sound driver of a database that are done wrongly. */
export type DatabaseMutation = (sound: DatabaseDriver, database: MemoryDatabase) => Partial<DatabaseDriver>;

/** Careless ways to divide work between processes. */
export const scheduling: Readonly<Record<string, Readonly<Record<string, DatabaseMutation>>>> = {
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
};

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
