import type { BlobUse, Decision, StoreDriver } from "heddle/store";
import type { Mutants } from "./mutation.ts";

/** Careless ways to keep blobs. */
export const blobs: Mutants = {
  blob: {
    "writes rows without their blobs": (sound) => ({ transact: using(sound, () => []) }),
    "finds no blobs": () => ({ blobs: async () => [] }),
    "finds one blob only": (sound) => ({ blobs: (hashes) => sound.blobs(hashes.slice(0, 1)) }),
    "gives other bytes": (sound) => ({
      blobs: async (hashes) =>
        (await sound.blobs(hashes)).map(({ hash, content }) => ({ hash, content: `${content}`.trim().slice(0, -1) })),
    }),
    "searches rows and not their blobs": (sound) => ({
      rows: async (id, range) => {
        const rows = await sound.rows(id, range);
        const { search } = range;
        return search === undefined ? rows : rows.filter(({ payload }) => payload?.toLowerCase().includes(search));
      },
    }),
    "does not give a fork the blobs of its parent": (_, { blobUses }) => {
      blobUses.copy = () => {};
      return {};
    },
  },
  "blob use": {
    "gives a fork all blobs of its parent": (_, { blobUses }) => {
      const copy = blobUses.copy.bind(blobUses);
      blobUses.copy = (from, to) => copy(from, to, new Set());
      return {};
    },
    "forgets at a fork that a blob was put": (_, { blobUses }) => {
      const add = blobUses.add.bind(blobUses);
      blobUses.add = (id, hash, use) => add(id, hash, { ...use, isPut: false });
      return {};
    },
    "keeps blobs forever": () => ({ purgeBlobs: async () => false }),
    "removes blobs at once": (sound) => ({ purgeBlobs: () => sound.purgeBlobs?.(-1000) ?? Promise.resolve(false) }),
    "removes blobs with the first thread that used them": (sound, { records }) => ({
      remove(id) {
        for (const key of records.keys()) if (key.startsWith("blob/")) records.delete(key);
        return sound.remove(id);
      },
    }),
    "forgets which thread put a blob": (sound) => ({
      transact: (id, ids, decide, wanted) =>
        using(sound, (used) => used)(
          id,
          ids,
          (state) => {
            const decision = decide(state);
            for (const { hash, content, purpose } of decision.blobs ?? [])
              if (purpose === "put") void sound.putRecord("blob", hash, content);
            return decision;
          },
          wanted,
        ),
    }),
    "forgets that a blob was put without a thread": (sound, { records }) => ({
      async putRecord(space, key, value) {
        if (space === "blob") records.set(`blob/${key}`, value);
        else await sound.putRecord(space, key, value);
      },
    }),
    "does not see that a thread exists again": (_, { blobUses, records }) => ({
      async purgeBlobs(graceMs) {
        for (const hash of blobUses.purge(Date.now() - graceMs, Date.now(), () => false))
          records.delete(`blob/${hash}`);
        return false;
      },
    }),
  },
};

function using(sound: StoreDriver, change: (blobs: readonly BlobUse[]) => readonly BlobUse[]): StoreDriver["transact"] {
  return (id, ids, decide, wanted) => sound.transact(id, ids, (state) => changed(decide(state), change), wanted);
}

function changed<Result>(
  decision: Decision<Result>,
  change: (blobs: readonly BlobUse[]) => readonly BlobUse[],
): Decision<Result> {
  return decision.blobs === undefined ? decision : { ...decision, blobs: change(decision.blobs) };
}
