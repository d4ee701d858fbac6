import type { CountedUsage, Decision, StoreDriver, UsageQuery } from "heddle/store";
import type { Mutants } from "./mutation.ts";

/** Careless ways to count usage. */
export const counting: Mutants = {
  usage: {
    "stores no usage": (sound) => ({ transact: counted(sound, () => []) }),
    "counts each decision once more than it is": (sound) => ({
      transact: counted(sound, (usage) => [...usage, ...usage]),
    }),
    "replaces sums": (sound, { usage: stored }) => ({
      transact: counted(sound, (usage) => {
        if (usage.length > 0) stored.clear();
        return usage;
      }),
    }),
    "counts for no owner": (sound) => ({
      transact: counted(sound, (usage) => usage.map(({ sum }) => ({ owner: "", sum }))),
    }),
    "counts again for a replay": (sound) => {
      const last = new Map<string, Decision<unknown>["usage"]>();
      return {
        transact: (id, ids, decide, inboxes) =>
          sound.transact(
            id,
            ids,
            (state) => {
              const decision = decide(state);
              const usage = decision.rows === undefined ? last.get(id) : decision.usage;
              last.set(id, usage);
              return { ...decision, ...(usage && { usage }) };
            },
            inboxes,
          ),
      };
    },
    "counts what it refuses": (sound) => ({
      async transact(id, ids, decide, inboxes) {
        try {
          return await sound.transact(id, ids, decide, inboxes);
        } catch (error) {
          const sum = { day: 1, model: "", count: 1, ...NO_TOKENS };
          await sound.transact(id, ids, () => ({ result: 0, usage: [{ owner: "", sum }] }));
          throw error;
        }
      },
    }),
    "ignores the owner": (sound) => asking(sound, (query) => ({ ...query, owner: undefined })),
    "ignores the thread": (sound) => asking(sound, (query) => ({ ...query, threadId: undefined })),
    "ignores the first day": (sound) => asking(sound, (query) => ({ ...query, from: 0 })),
    "ignores the last day": (sound) => asking(sound, (query) => ({ ...query, to: Number.MAX_SAFE_INTEGER })),
    "removes usage with the thread": (sound, { usage }) => ({
      remove(id) {
        for (const [key, { threadId }] of usage) if (threadId === id) usage.delete(key);
        return sound.remove(id);
      },
    }),
    "keeps the thread of its usage": (sound, { usage }) => ({
      async remove(id) {
        const before = new Map(usage);
        const isRemoved = await sound.remove(id);
        usage.clear();
        for (const [key, row] of before) usage.set(key, row);
        return isRemoved;
      },
    }),
    "keeps the usage of one deleted thread only": (sound, { usage }) => ({
      remove(id) {
        for (const [key, { threadId }] of usage) if (threadId === "") usage.delete(key);
        return sound.remove(id);
      },
    }),
    "copies usage with a fork": (sound, { usage }) => ({
      async fork(from, to, atSeq, start) {
        const isMade = await sound.fork(from, to, atSeq, start);
        const added = [...usage.values()].filter(({ threadId }) => threadId === from);
        await sound.transact(to, { ids: [], lanes: [] }, () => ({ result: true, usage: added }));
        return isMade;
      },
    }),
    "returns a sum for each thread": (_, { usage }) => ({
      usage: async ({ owner, threadId }) =>
        [...usage.values()]
          .filter((row) => (owner ?? row.owner) === row.owner && (threadId ?? row.threadId) === row.threadId)
          .map(({ sum }) => sum),
    }),
  },
};

const NO_TOKENS = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };

type Counted = readonly CountedUsage[];

function counted(sound: StoreDriver, change: (usage: Counted) => Counted): StoreDriver["transact"] {
  return (id, ids, decide, inboxes) =>
    sound.transact(
      id,
      ids,
      (state) => {
        const decision = decide(state);
        return { ...decision, usage: change(decision.usage ?? []) };
      },
      inboxes,
    );
}

function asking(sound: StoreDriver, change: (query: UsageQuery) => UsageQuery): Partial<StoreDriver> {
  return { usage: async (query) => (await sound.usage?.(change(query))) ?? [] };
}
