import { StaleHolderError, ThreadHeldError } from "heddle";
import { memoryDriver } from "../../../src/stores/memory-store.ts";
import { type Mutants, retried } from "./mutation.ts";

/** Careless ways to hold, keep and end. */
export const keeping: Mutants = {
  claim: {
    "deletes the claim with the thread": (sound, { claims }) => ({
      remove(id) {
        claims.delete(id);
        return sound.remove(id);
      },
    }),
    "keeps claims to itself": (sound, tenant) => {
      const own = memoryDriver({ ...tenant, claims: new Map() }, Date.now);
      return { transact: (id, ids, decide) => own.transact(id, ids, decide), rows: sound.rows };
    },
    "begins epochs anew when a claim has run out": (sound) => ({
      transact: (id, ids, decide) =>
        sound.transact(id, ids, (state) => {
          const over = state.claim !== undefined && state.claim.until <= state.now;
          return decide(over ? { ...state, claim: undefined } : state);
        }),
    }),
    "lets anyone claim": (sound) => ({
      transact: retried(sound, ThreadHeldError.isInstance.bind(ThreadHeldError), ({ claim, ...state }) => ({
        ...state,
        claim: claim && { ...claim, until: 0 },
      })),
    }),
    "ignores epochs": (sound) => ({
      transact: retried(sound, StaleHolderError.isInstance.bind(StaleHolderError), (state, error) => {
        const epoch = StaleHolderError.isInstance(error) ? error.epoch : 0;
        return { ...state, claim: { holder: "x", ttlMs: 1, until: 0, ...state.claim, epoch } };
      }),
    }),
    "has a clock that stands still": (sound) => ({
      transact: (id, ids, decide) => sound.transact(id, ids, (state) => decide({ ...state, now: 1 })),
    }),
  },
  time: {
    "has the time of the last change for now": (sound) => ({
      transact: (id, ids, decide) =>
        sound.transact(id, ids, (state) => decide({ ...state, now: state.head?.updatedAt ?? state.now })),
    }),
  },
  record: {
    "keeps checkpoints and blobs in one place": (sound) => ({
      getRecord: (_, key) => sound.getRecord("blob", key),
      putRecord: (_, key, value) => sound.putRecord("blob", key, value),
      deleteRecord: (_, key) => sound.deleteRecord("blob", key),
    }),
    "never writes a checkpoint again": (sound) => ({
      async putRecord(space, key, value) {
        if ((await sound.getRecord(space, key)) === undefined) await sound.putRecord(space, key, value);
      },
    }),
    "gives bytes as text": (sound) => ({
      async getRecord(space, key) {
        const value = await sound.getRecord(space, key);
        return value instanceof Uint8Array ? new TextDecoder().decode(value) : value;
      },
    }),
  },
  tenant: {
    "ignores the case of keys": (sound) => ({
      getRecord: (space, key) => sound.getRecord(space, key.toLowerCase()),
      putRecord: (space, key, value) => sound.putRecord(space, key.toLowerCase(), value),
      deleteRecord: (space, key) => sound.deleteRecord(space, key.toLowerCase()),
    }),
  },
  life: {
    "removes a thread at any revision": (sound) => ({ removeIf: (id) => sound.remove(id) }),
    "says it deleted what never was": (sound) => ({
      async remove(id) {
        return (await sound.remove(id)) ?? [];
      },
    }),
    "deletes nothing": (sound) => ({ remove: async (id) => ((await sound.head(id)) ? [] : undefined) }),
    "deletes checkpoints with a thread": (sound, { records }) => ({
      remove(id) {
        records.clear();
        return sound.remove(id);
      },
    }),
    "drops appends under way when it closes": (sound) => {
      let closed = false;
      return {
        async transact(id, ids, decide) {
          await new Promise((resolve) => setTimeout(resolve));
          if (closed) throw new Error("closed");
          return sound.transact(id, ids, decide);
        },
        async close() {
          closed = true;
        },
      };
    },
    "empties the database when it closes": (_, { threads }) => ({
      async close() {
        threads.clear();
      },
    }),
    "never comes back from close": () => ({ close: () => new Promise(() => {}) }),
  },
};
