import type { ListQuery, StateQuery, StoreDriver, StoredRow, ThreadState } from "heddle/store";
import type { MemoryTenant } from "../../../src/stores/memory-store.ts";
import { StoreContext } from "../../../src/stores/methods/context.ts";
import { searchHeads } from "../../../src/stores/methods/list.ts";
import { completePorts } from "../../../src/stores/options.ts";

/** What a careless author might write: the operations of a sound driver that are done wrongly. */
export type Mutation = (sound: StoreDriver, tenant: MemoryTenant) => Partial<StoreDriver>;
/** Group of the suite that has to notice -> what is wrong -> how. */
export type Mutants = Readonly<Record<string, Readonly<Record<string, Mutation>>>>;

export function peek<Seen>(
  sound: StoreDriver,
  id: string,
  wanted: StateQuery,
  look: (state: ThreadState) => Seen,
): Promise<Seen> {
  return sound.transact(id, wanted, (state) => ({ result: look(state) }));
}

export function rewriting(sound: StoreDriver, rewrite: (payload: string) => string): StoreDriver["transact"] {
  return (id, ids, decide) =>
    sound.transact(id, ids, (state) => {
      const decision = decide(state);
      const rows = decision.rows?.map((row) => ({ ...row, payload: row.payload && rewrite(row.payload) }));
      return { ...decision, ...(rows && { rows }) };
    });
}

export function sortKeys(text: string): string {
  return JSON.stringify(JSON.parse(text), (_, value: unknown) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
}

export function retried(
  sound: StoreDriver,
  isIt: (error: unknown) => boolean,
  change: (state: ThreadState, error: unknown) => ThreadState,
): StoreDriver["transact"] {
  return (id, ids, decide) =>
    sound.transact(id, ids, (state) => {
      try {
        return decide(state);
      } catch (error) {
        if (!isIt(error)) throw error;
        return decide(change(state, error));
      }
    });
}

/** A driver that copies the rows of a fork, after a change of them. */
export function copying(
  sound: StoreDriver,
  change: (rows: readonly StoredRow[]) => readonly StoredRow[],
): StoreDriver["fork"] {
  return async (from, to, atSeq, start) => {
    const rows = change(await sound.rows(from, { from: 0, to: atSeq, limit: atSeq + 1 }));
    return sound.transact(to, { ids: [], lanes: [] }, (state) =>
      state.head ? { result: false } : { result: true, ...start, rows },
    );
  };
}

export function listing(sound: StoreDriver, change: (query: ListQuery) => ListQuery): NonNullable<StoreDriver["list"]> {
  const context = new StoreContext(sound, completePorts({}));
  return (query) => searchHeads(context, change(query));
}
