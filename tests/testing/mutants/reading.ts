import type { HeadLanes, StoreDriver, StoredLane, StoredRow, ThreadChanges, ThreadHead } from "heddle/store";
import { listing, type Mutants } from "./mutation.ts";

const known = ({ active, since, tip }: HeadLanes): HeadLanes => ({ active, since, tip });

/** Careless ways to read. */
export const reading: Mutants = {
  sum: {
    "keeps only what it knows of a head": (sound) => ({
      async head(id) {
        const head = await sound.head(id);
        return head && !("track" in head.lanes) ? { ...head, lanes: known(head.lanes) } : head;
      },
      async heads(after, limit) {
        const found = await sound.heads(after, limit);
        return found.map(({ id, head }) => {
          return { id, head: "track" in head.lanes ? head : { ...head, lanes: known(head.lanes) } };
        });
      },
    }),
    "lists a thread as it was before its last append": (sound) => {
      const before = new Map<string, ThreadHead>();
      return {
        transact: (id, wanted, decide, inboxes) =>
          sound.transact(
            id,
            wanted,
            (state) => {
              if (state.head) before.set(id, state.head);
              return decide(state);
            },
            inboxes,
          ),
        async heads(after, limit) {
          const found = await sound.heads(after, limit);
          return found.map(({ id, head }) => ({ id, head: before.get(id) ?? head }));
        },
      };
    },
  },
  read: {
    "gives rows in any order": (sound) => ({
      rows: async (id, range) => {
        const rows = await sound.rows(id, range);
        return rows.length > 2 ? [...rows.slice(1), ...rows.slice(0, 1)] : rows;
      },
    }),
    "ignores reverse": (sound) => ({ rows: (id, range) => sound.rows(id, { ...range, reverse: false }) }),
    "ignores kinds": (sound) => ({ rows: (id, range) => sound.rows(id, { ...range, kinds: undefined }) }),
    "takes no kinds for all kinds": (sound) => ({
      rows: (id, range) => sound.rows(id, range.kinds?.length === 0 ? { ...range, kinds: undefined } : range),
    }),
    "finds refs by their text only": (sound) => ({
      rows: async (id, { refs, ...range }) => {
        const rows = await sound.rows(id, { ...range, limit: Number.MAX_SAFE_INTEGER });
        const has = (row: StoredRow, [key, value]: [string, unknown]) => JSON.parse(row.refs)[key] === `${value}`;
        return rows.filter((row) => Object.entries(refs ?? {}).every((ref) => has(row, ref))).slice(0, range.limit);
      },
    }),
    "has request ids of 64 characters": (sound) => ({
      rows: async (id, range) => {
        const { requestId, ...refs } = range.refs ?? {};
        if (typeof requestId !== "string" || requestId.length < 65) return sound.rows(id, range);
        const rows = await sound.rows(id, { ...range, refs: undefined });
        return rows.filter((row) => JSON.parse(row.refs).requestId === requestId.slice(0, 64) && refs !== undefined);
      },
    }),
    "counts before it filters refs": (sound) => ({
      rows: async (id, { refs, ...range }) => {
        const rows = await sound.rows(id, range);
        return rows.filter((row) =>
          Object.entries(refs ?? {}).every(([key, value]) => JSON.parse(row.refs)[key] === value),
        );
      },
    }),
    "keeps the request index of a deleted thread": (sound, { threads }) => {
      const before = new Map<string, readonly StoredRow[]>();
      return {
        async remove(id) {
          before.set(id, [...(threads.get(id)?.rows ?? [])]);
          return sound.remove(id);
        },
        async rows(id, range) {
          const thread = threads.get(id);
          const stale = before.get(id);
          if (thread === undefined || stale === undefined || range.refs === undefined) return sound.rows(id, range);
          const wanted = range.refs["requestId"];
          const found = stale.filter(({ refs }) => JSON.parse(refs).requestId === wanted);
          return found.flatMap(({ seq }) => thread.rows[seq] ?? []);
        },
      };
    },
    "counts before it filters": (sound) => ({
      rows: async (id, range) => {
        const rows = await sound.rows(id, { ...range, kinds: undefined });
        return rows.filter(({ kind }) => range.kinds?.includes(kind) ?? true);
      },
    }),
  },
  load: {
    "leaves out the end of a range": (sound) => ({
      rows: (id, range) => sound.rows(id, { ...range, to: range.to - 1 }),
    }),
    "leaves out the beginning of a range": (sound) => ({
      rows: (id, range) => sound.rows(id, { ...range, from: range.from + 1 }),
    }),
    "gives a hundred rows at most": (sound) => ({
      rows: (id, range) => sound.rows(id, { ...range, limit: Math.min(range.limit, 100) }),
    }),
    "caches heads": (sound) => {
      const heads = new Map<string, ReturnType<StoreDriver["head"]>>();
      return {
        head(id) {
          const head = heads.get(id) ?? sound.head(id);
          heads.set(id, head);
          return head;
        },
      };
    },
  },
  watch: {
    "names only the first of the changed threads": (sound) => ({
      changedThreads: async (after) => {
        const found = await lookOf(sound, after);
        return { ...found, threadIds: found.threadIds.slice(0, 1) };
      },
    }),
    "moves the position beyond what it has read": (sound) => ({
      changedThreads: async (after) => {
        const found = await lookOf(sound, after);
        return { ...found, position: String(Number(found.position) + 1) };
      },
    }),
    "finds the changed threads once": (sound) => {
      let first: ReturnType<typeof lookOf> | undefined;
      return {
        changedThreads(after) {
          if (after === undefined) return lookOf(sound, after);
          first ??= lookOf(sound, after);
          return first;
        },
      };
    },
    "looks for threads that are new": (sound, { threads }) => {
      const known = new Set(threads.keys());
      return {
        changedThreads: async (after) => {
          const found = await lookOf(sound, after);
          const threadIds = found.threadIds.filter((id) => !known.has(id));
          for (const id of found.threadIds) known.add(id);
          return { ...found, threadIds };
        },
      };
    },
    "promises announcements and makes none": (sound) => ({
      changedThreads: async (after) => ({ ...(await lookOf(sound, after)), isAnnounced: true }),
    }),
    "announces other threads than those that changed": (sound) => ({
      changedThreads: async (after) => ({ ...(await lookOf(sound, after)), threadIds: ["other"] }),
    }),
  },
  base: {
    "forgets lanes": () => ({ lanes: async () => [] }),
    "gives every lane whatever is asked": (sound) => ({ lanes: (id) => sound.lanes(id) }),
    "gives no lanes without names": (sound) => ({ lanes: (id, names = []) => sound.lanes(id, names) }),
    "gives a decision any lane, not the wanted ones": (sound, { threads }) => ({
      transact: (id, wanted, decide) =>
        sound.transact(id, wanted, (state) =>
          decide({ ...state, lanes: [...(threads.get(id)?.lanes.values() ?? [])].slice(0, 1) }),
        ),
    }),
    "stores lanes once": (sound, { threads }) => ({
      transact: (id, wanted, decide) =>
        sound.transact(id, wanted, (state) => {
          const { lanes, ...decision } = decide(state);
          return {
            ...decision,
            ...(lanes && { lanes: lanes.filter(({ lane }) => !threads.get(id)?.lanes.has(lane)) }),
          };
        }),
    }),
    "stores one lane of a call": (sound) => ({
      transact: (id, wanted, decide) =>
        sound.transact(id, wanted, (state) => {
          const { lanes, ...decision } = decide(state);
          return { ...decision, ...(lanes && { lanes: lanes.slice(0, 1) }) };
        }),
    }),
    "keeps lanes of a removed thread": (sound, { threads }) => {
      const removed = new Map<string, StoredLane[]>();
      return {
        remove(id) {
          removed.set(id, [...(threads.get(id)?.lanes.values() ?? [])]);
          return sound.remove(id);
        },
        transact: (id, wanted, decide) =>
          sound.transact(id, wanted, (state) => {
            const earlier = removed.get(id)?.filter(({ lane }) => wanted.lanes.includes(lane)) ?? [];
            return decide({ ...state, lanes: [...earlier, ...state.lanes] });
          }),
      };
    },
    "forks without lanes": (sound) => ({
      fork: async (from, to, atSeq, { head }) => {
        const rows = await sound.rows(from, { from: 0, to: atSeq, limit: atSeq + 1 });
        return sound.transact(to, { ids: [], lanes: [] }, (state) =>
          state.head ? { result: false } : { result: true, head, rows },
        );
      },
    }),
    "loses the columns of lanes": (sound) => ({
      rows: async (id, range) => (await sound.rows(id, range)).map((row) => ({ ...row, recordSeq: null })),
    }),
    "ignores the case of lanes": (sound) => ({
      lanes: async (id, names) =>
        (await sound.lanes(id)).filter(
          ({ lane }) => names === undefined || names.some((name) => name.toLowerCase() === lane.toLowerCase()),
        ),
    }),
  },
  feed: {
    "finds no changed threads": (sound) => ({
      changedThreads: async (after) => ({ ...(await lookOf(sound, after)), threadIds: [] }),
    }),
    "does not say that its feed withholds rows": (sound, { log }) => {
      let settled = 0; // a row is fed only if it was committed before the read before this one
      return {
        async changes(after, limit) {
          const found = await sound.changes(after, limit);
          const fed = found.filter(({ cursor }) => Number(cursor) < settled);
          settled = log.length;
          return fed;
        },
      };
    },
    "gives every change twice": (sound) => ({
      changes: async (after, limit) => (await sound.changes(after, limit)).flatMap((change) => [change, change]),
    }),
    "starts the feed after the first change": (sound) => ({
      changes: (after, limit) => sound.changes(after ?? "0", limit),
    }),
    "gives the change of the cursor again": (sound) => ({
      changes: (after, limit) =>
        sound.changes(after === undefined || after === "0" ? undefined : String(Number(after) - 1), limit),
    }),
    "feeds thread by thread": (sound) => ({
      changes: async (after, limit) =>
        (await sound.changes(after, limit)).toSorted(
          (a, b) => a.threadId.localeCompare(b.threadId) || Number(a.cursor) - Number(b.cursor),
        ),
    }),
    "feeds again what stood where a thread that began anew has an entry": (_, { log, threads }) => ({
      changes: async (after, limit) =>
        log
          .map((change, n) => ({ ...change, cursor: String(n) }))
          .filter((change) => change.type !== "entry" || threads.get(change.threadId)?.rowAt(change.row.seq))
          .filter(({ cursor }) => after === undefined || Number(cursor) > Number(after))
          .slice(0, limit),
    }),
    "feeds each place of a thread once, also when it begins anew": (sound, { log }) => ({
      async changes(after, limit) {
        const all = await sound.changes(undefined, Number.MAX_SAFE_INTEGER);
        const isFirst = (cursor: string, id: string, seq: number) =>
          log.findIndex((change) => change.type === "entry" && change.threadId === id && change.row.seq === seq) ===
          Number(cursor);
        return all
          .filter((change) => change.type !== "entry" || isFirst(change.cursor, change.threadId, change.row.seq))
          .filter(({ cursor }) => after === undefined || Number(cursor) > Number(after))
          .slice(0, limit);
      },
    }),
    "has another epoch in each handle": () => {
      const epoch = String(Math.random()).slice(-8).padStart(16, "0");
      return { feedEpoch: async () => ({ epoch }) };
    },
    "says that it has cursors of 0.1": (sound) => ({
      feedEpoch: async () => ({ ...(await sound.feedEpoch()), hasEarlierCursors: true }),
      changes: (after, limit) => sound.changes(/^\d+$/.test(after ?? "0") ? after : undefined, limit),
    }),
    "takes any text for a cursor": (sound) => ({
      changes: (after, limit) => sound.changes(/^\d+$/.test(after ?? "0") ? after : undefined, limit),
    }),
    "reads the number at the beginning of a cursor": (sound) => ({
      changes: (after, limit) =>
        sound.changes(after && Number.parseInt(after, 10) >= 0 ? String(Number.parseInt(after, 10)) : after, limit),
    }),
    "feeds deleted threads": (_, { log }) => ({
      changes: async (after, limit) =>
        log
          .map((change, n) => ({ ...change, cursor: String(n) }))
          .slice(after === undefined ? 0 : Number(after) + 1)
          .slice(0, limit),
    }),
  },
  filter: {
    "lists the threads of all owners": (sound) => ({
      list: listing(sound, (query) => ({ ...query, owner: undefined })),
    }),
    "lists whatever the metadata": (sound) => ({ list: listing(sound, (query) => ({ ...query, fields: [] })) }),
    "looks at one value of the metadata": (sound) => ({
      list: listing(sound, (query) => ({ ...query, fields: query.fields.slice(0, 1) })),
    }),
    "lists children among the threads without a parent": (sound) => ({
      list: listing(sound, (query) => ({ ...query, fields: query.fields.filter(({ value }) => value !== null) })),
    }),
    "ignores the time of creation": (sound) => ({
      list: listing(sound, (query) => ({ ...query, createdSince: undefined, createdBefore: undefined })),
    }),
    "lists threads updated at the limit of time": (sound) => ({
      list: listing(sound, (query) => ({
        ...query,
        ...(query.updatedBefore && { updatedBefore: query.updatedBefore + 1 }),
      })),
    }),
  },
  list: {
    "lists every status": (sound) => ({ list: listing(sound, (query) => ({ ...query, status: undefined })) }),
    "lists every prefix": (sound) => ({ list: listing(sound, (query) => ({ ...query, prefix: "" })) }),
    "takes a search for a pattern": (sound) => ({
      list: listing(sound, (query) => ({ ...query, search: query.search.replaceAll("%", "") })),
    }),
    "finds all whatever is searched": (sound) => ({ list: listing(sound, (query) => ({ ...query, search: "" })) }),
    "ignores reverse in a list": (sound) => ({ list: listing(sound, (query) => ({ ...query, reverse: false })) }),
    "has one order": (sound) => ({ list: listing(sound, (query) => ({ ...query, order: "updated" })) }),
  },
  page: {
    "lists no more than a page of heads": (sound) => ({
      heads: async (after, limit) => (after === undefined ? sound.heads(after, limit) : []),
    }),
    "starts each page at the first thread": (sound) => ({
      list: listing(sound, (query) => ({ ...query, after: undefined })),
    }),
  },
};

async function lookOf(sound: StoreDriver, after: string | undefined): Promise<ThreadChanges> {
  if (sound.changedThreads === undefined) throw new Error("the memory driver has changedThreads");
  return sound.changedThreads(after);
}
