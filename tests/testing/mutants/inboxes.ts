import type { Decision, InboxQuery, StoreDriver } from "heddle/store";
import { memoryDriver } from "../../../src/stores/memory-store.ts";
import type { Mutants } from "./mutation.ts";

/** Careless ways to keep commands. */
export const inboxes: Mutants = {
  inbox: {
    "keeps inboxes to itself": (sound, tenant) => {
      const own = memoryDriver({ ...tenant, inboxes: new Map() }, Date.now);
      return { ...own, remove: sound.remove };
    },
    "lists pending commands by id": (sound) => ({
      pending: async (id, after, limit) =>
        (await sound.pending(id, after, limit)).toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    }),
    "lists the first page of pending commands only": (sound) => ({
      pending: async (id, after, limit) => (after === 0 ? sound.pending(id, after, limit) : []),
    }),
    "gives every command the first place": (sound) => ({
      transact: wanting(sound, (inbox) => inbox, "lastPosition"),
    }),
    "does not look whether a command is there": (sound) => ({
      transact: wanting(sound, (inbox) => ({ ...inbox, commandIds: [] })),
    }),
    "forgets what was posted when it is amended": (sound) => ({
      transact: writing(sound, (decision) => ({
        ...decision,
        ...(decision.commands && {
          commands: decision.commands.map((item) => ({ ...item, command: { ...item.command, posted: null } })),
        }),
      })),
    }),
    "deletes a thread and keeps its commands": (sound, { inboxes }) => ({
      async remove(id) {
        const kept = inboxes.get(id);
        const removed = await sound.remove(id);
        if (kept !== undefined) inboxes.set(id, kept);
        return removed;
      },
    }),
  },
  consume: {
    "writes entries without outcomes": (sound) => ({
      transact: writing(sound, ({ commands, ...decision }) => ({
        ...decision,
        ...(commands && decision.rows === undefined && { commands }),
      })),
    }),
    "writes outcomes without entries": (sound) => ({
      transact: writing(sound, ({ rows, head, ...decision }) => ({
        ...decision,
        ...(head && decision.commands === undefined && { rows: rows ?? [], head }),
      })),
    }),
    "writes an outcome though the append was refused": (sound) => ({
      async transact(id, ids, decide, wanted) {
        try {
          return await sound.transact(id, ids, decide, wanted);
        } catch (error) {
          const drop = (state: { inboxes: ReadonlyMap<string, { commands: readonly StoredCommandOf[] }> }) => ({
            result: undefined,
            commands: [...(state.inboxes.get(id)?.commands ?? [])].map((command) => ({
              threadId: id,
              command: { ...command, outcome: '{"status":"done"}', doneAt: 1 },
            })),
          });
          await sound.transact(id, ids, drop, wanted);
          throw error;
        }
      },
    }),
    "posts only to the thread of the append": (sound) => ({
      transact: (id, ids, decide, wanted) =>
        writing(sound, (decision) => ({
          ...decision,
          ...(decision.commands && { commands: decision.commands.filter(({ threadId }) => threadId === id) }),
        }))(id, ids, decide, wanted),
    }),
    "does not read the log of inboxes": (sound) => ({
      transact: wanting(sound, (inbox) => ({ ...inbox, entryIds: [] })),
    }),
    "lets others write between reading an inbox and writing": (sound) => ({
      async transact(id, ids, decide, wanted) {
        const seen = await sound.transact(id, ids, (state) => ({ result: state }), wanted);
        await Promise.resolve();
        return sound.transact(id, ids, (state) => decide({ ...state, inboxes: seen.inboxes }), wanted);
      },
    }),
  },
  outcome: {
    "finds no commands of other handles": (_, tenant) => {
      const own = memoryDriver({ ...tenant, inboxes: new Map(tenant.inboxes) }, Date.now);
      return { commands: own.commands };
    },
    "shows pending commands only": (sound) => ({
      commands: async (keys) => (await sound.commands(keys)).filter(({ command }) => command.outcome === null),
    }),
    "never removes an outcome": (sound) => ({ transact: writing(sound, ({ purgeBefore: _, ...rest }) => rest) }),
    "removes outcomes at once": (sound) => ({
      transact: writing(sound, (decision) => ({
        ...decision,
        ...(decision.purgeBefore !== undefined && { purgeBefore: Number.MAX_SAFE_INTEGER }),
      })),
    }),
    "removes commands that wait": (sound, { inboxes }) => ({
      transact: writing(sound, (decision) => {
        for (const inbox of decision.purgeBefore === undefined ? [] : inboxes.values()) {
          for (const [id, { postedAt }] of inbox.commands)
            if (postedAt < (decision.purgeBefore ?? 0) && inbox.commands.delete(id)) inbox.pending.delete(id);
        }
        return decision;
      }),
    }),
  },
};

type StoredCommandOf = Awaited<ReturnType<StoreDriver["commands"]>>[number]["command"];

function writing(
  sound: StoreDriver,
  change: <Result>(decision: Decision<Result>) => Decision<Result>,
): StoreDriver["transact"] {
  return (id, ids, decide, wanted) => sound.transact(id, ids, (state) => change(decide(state)), wanted);
}

/** A driver that wants less of an inbox than it is asked for. */
function wanting(
  sound: StoreDriver,
  change: (inbox: InboxQuery) => InboxQuery,
  forgotten?: "lastPosition",
): StoreDriver["transact"] {
  return (id, ids, decide, wanted = []) => {
    const seen: typeof decide = (state) => {
      const states = [...state.inboxes].map(
        ([name, inbox]) => [name, forgotten === undefined ? inbox : { ...inbox, lastPosition: 0 }] as const,
      );
      return decide({ ...state, inboxes: new Map(states) });
    };
    return sound.transact(id, ids, seen, wanted.map(change));
  };
}
