import { ConflictError } from "heddle";
import type { StoredRow } from "heddle/store";
import { copying, type Mutants, peek, rewriting, sortKeys } from "./mutation.ts";

/** Careless ways to write. */
export const writing: Mutants = {
  append: {
    "loses the last row of a batch": (sound) => ({
      transact: (id, ids, decide) =>
        sound.transact(id, ids, (state) => {
          const decision = decide(state);
          return {
            ...decision,
            ...(decision.rows && { rows: decision.rows.slice(0, Math.max(1, decision.rows.length - 1)) }),
          };
        }),
    }),
    "acknowledges before it stores": (sound) => ({
      async transact(id, ids, decide) {
        const result = await peek(sound, id, ids, (state) => decide(state).result);
        setTimeout(() => void sound.transact(id, ids, decide).catch(() => {}), 1);
        return result;
      },
    }),
    "acknowledges and stores nothing": (sound) => ({
      transact: (id, ids, decide) => peek(sound, id, ids, (state) => decide(state).result),
    }),
    "stores rows before it is asked whether to": (sound, tenant) => ({
      transact: (id, ids, decide) =>
        sound.transact(id, ids, (state) => {
          try {
            return decide(state);
          } catch (error) {
            tenant.threads.delete(id);
            throw error;
          }
        }),
    }),
    "keeps the metadata of the first append": (sound) => ({
      transact: (id, ids, decide) =>
        sound.transact(id, ids, (state) => {
          const decision = decide(state);
          if (state.head === undefined || decision.head === undefined) return decision;
          return { ...decision, head: { ...decision.head, metadata: state.head.metadata, seal: state.head.seal } };
        }),
    }),
  },
  owner: {
    "writes a head only with rows": (sound) => ({
      transact: (id, ids, decide) =>
        sound.transact(id, ids, (state) => {
          const { head, ...decision } = decide(state);
          return state.head && !decision.rows ? decision : { ...decision, ...(head && { head }) };
        }),
    }),
    "forgets the owner": (sound) => ({
      async heads(after, limit) {
        const found = await sound.heads(after, limit);
        return found.map(({ id, head }) => ({ id, head: { ...head, owner: null } }));
      },
    }),
  },
  signal: {
    "loses rows of a batch that has a signal": (sound) => ({
      transact: (id, ids, decide, _, signal) =>
        sound.transact(id, ids, (state) => {
          const decision = decide(state);
          return signal && decision.rows ? { ...decision, rows: decision.rows.slice(0, -1) } : decision;
        }),
    }),
    "repeats a batch whose signal has aborted": (sound) => ({
      async transact(id, ids, decide, _, signal) {
        const result = await sound.transact(id, ids, decide);
        if (signal?.aborted)
          await sound.transact(id, { ids: [], lanes: [] }, (state) => decide({ ...state, known: [] }));
        return result;
      },
    }),
    "puts records later when there is a signal": (sound) => ({
      async putRecord(space, key, value, signal) {
        if (signal === undefined) await sound.putRecord(space, key, value);
      },
    }),
  },
  revision: {
    "ignores the expected revision": (sound) => ({
      transact: (id, ids, decide) =>
        sound.transact(id, ids, (state) => {
          try {
            return decide(state);
          } catch (error) {
            if (!ConflictError.isInstance(error) || state.head === undefined) throw error;
            const { head, ...decision } = decide({ ...state, head: { ...state.head, rev: error.expected } });
            return { ...decision, ...(head && { head: { ...head, rev: (state.head.rev ?? 0) + 1 } }) };
          }
        }),
    }),
  },
  retry: {
    "forgets which ids it knows": (sound) => ({
      transact: (id, wanted, decide) => sound.transact(id, { ...wanted, ids: [] }, decide),
    }),
    "knows only the last hundred ids": (sound) => ({
      transact: (id, ids, decide) =>
        sound.transact(id, ids, (state) => {
          const since = (state.head?.rev ?? 0) - 100;
          return decide({ ...state, known: state.known.filter(({ seq }) => seq >= since) });
        }),
    }),
  },
  concurrency: {
    "lets others write between looking and storing": (sound) => ({
      async transact(id, ids, decide) {
        const state = await peek(sound, id, ids, (seen) => seen);
        await Promise.resolve();
        return sound.transact(id, ids, () => decide(state));
      },
    }),
    "shows a head before its rows": (sound) => ({
      async transact(id, ids, decide) {
        let rest: readonly StoredRow[] = [];
        const result = await sound.transact(id, ids, (state) => {
          const decision = decide(state);
          rest = decision.rows?.slice(1) ?? [];
          return { ...decision, ...(decision.rows && { rows: decision.rows.slice(0, 1) }) };
        });
        await new Promise((resolve) => setTimeout(resolve, 1));
        if (rest.length === 0) return result;
        return sound.transact(id, ids, ({ head }) => ({ result, rows: rest, ...(head && { head }) }));
      },
    }),
    "fails the neighbors of a failing append": (sound) => {
      const sameTurn = new Set<Promise<unknown>>();
      return {
        async transact(id, ids, decide) {
          const written = sound.transact(id, ids, decide);
          sameTurn.add(written);
          await Promise.allSettled([written]);
          await new Promise((resolve) => setTimeout(resolve, 1));
          setTimeout(() => sameTurn.delete(written), 1);
          await Promise.all(sameTurn);
          return written;
        },
      };
    },
  },
  content: {
    "sorts the keys of payloads": (sound) => ({ transact: rewriting(sound, sortKeys) }),
    "strips NUL from payloads": (sound) => ({ transact: rewriting(sound, (text) => text.replaceAll("\\u0000", "")) }),
    "loses the version of an entry": (sound) => ({
      rows: async (id, range) => (await sound.rows(id, range)).map((row) => ({ ...row, v: null })),
    }),
  },
  fork: {
    "forks one row short": (sound) => ({ fork: copying(sound, (rows) => rows.slice(0, -1)) }),
    "forks over what is there": (sound) => ({
      async fork(from, to, atSeq, head) {
        await sound.remove(to);
        return sound.fork(from, to, atSeq, head);
      },
    }),
    "forks a deleted thread": (sound) => ({ fork: copying(sound, (rows) => rows) }),
    "removes the rows that a fork shows": (sound, { threads }) => ({
      remove(id) {
        threads.get(id)?.rows.splice(0);
        return sound.remove(id);
      },
    }),
    "knows no ids of shared rows": (sound, { threads }) => ({
      transact: (id, wanted, decide) =>
        sound.transact(id, wanted, (state) => {
          const own = new Set(threads.get(id)?.rows);
          return decide({ ...state, known: state.known.filter((row) => own.has(row)) });
        }),
    }),
    "shows what the parent got after the fork": (sound) => {
      const parents = new Map<string, string>();
      return {
        fork(from, to, atSeq, start) {
          parents.set(to, from);
          return sound.fork(from, to, atSeq, start);
        },
        async rows(id, range) {
          const parent = parents.get(id);
          const head = parent === undefined ? undefined : await sound.head(parent);
          return sound.rows(parent !== undefined && range.to < (head?.rev ?? 0) ? parent : id, range);
        },
      };
    },
    "gives the shared rows of a fork first, also in reverse": (sound, { threads }) => ({
      async rows(id, range) {
        const rows = await sound.rows(id, { ...range, limit: Number.MAX_SAFE_INTEGER });
        const own = new Set(threads.get(id)?.rows);
        return [...rows.filter((row) => !own.has(row)), ...rows.filter((row) => own.has(row))].slice(0, range.limit);
      },
    }),
    "forgets forks of forks": (sound) => {
      const parents = new Map<string, string>();
      return {
        fork(from, to, atSeq, start) {
          parents.set(to, from);
          return sound.fork(from, to, atSeq, start);
        },
        forks: async (id) => (await sound.forks(id)).filter((fork) => parents.get(fork) === id),
      };
    },
    "names no fork for which it keeps rows, but others": (sound) => ({
      remove: async (id) => (await sound.remove(id))?.map((fork) => `${fork}x`),
    }),
  },
};
