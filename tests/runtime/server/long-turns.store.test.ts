import { AgentServer, defineAgent, project, projectFromStore, type ThreadStore } from "heddle";
import { sqliteStore } from "heddle/sqlite";
import { scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { defineStore } from "../../../src/stores/define-store.ts";
import { MemoryTenant, memoryDriver } from "../../../src/stores/memory-store.ts";
import { recording } from "../../stores/sqlite/support/recording.ts";
import { fastFile } from "../../support/temp-folder.ts";
import { longTurn } from "../support/long-turns.ts";

const TURNS = 5;
const CALLS = 400;
const ROWS = TURNS * (2 * CALLS + 2);
const BUDGETS = [8000, 20_000, 60_000, 200_000];

interface Reads {
  /** The loads of entries since the last call: the first seq and the number of entries. */
  readonly loads: () => readonly (readonly [from: number, count: number])[];
  /** The rows that the driver has read since the last call. */
  readonly rows: () => number;
}

interface Opened extends Reads {
  readonly store: ThreadStore;
}

/** Opens the same data again, as another process does. */
type Open = () => Opened;

const databases: readonly (readonly [name: string, make: () => Open])[] = [
  ["memory", inMemory],
  ["SQLite", inSqlite],
];

function inMemory(): Open {
  const tenant = new MemoryTenant();
  return () => {
    const driver = memoryDriver(tenant, () => 0);
    let rows = 0;
    const counted: typeof driver = {
      ...driver,
      async rows(threadId, range) {
        const read = await driver.rows(threadId, range);
        rows += read.length;
        return read;
      },
    };
    return countingLoads(defineStore(counted), () => rows);
  };
}

function inSqlite(): Open {
  const path = fastFile();
  return () => {
    const sql = recording();
    return countingLoads(sqliteStore(path, { connect: sql.connect, mode: "relaxed" }), sql.rowsReturned);
  };
}

function countingLoads(inner: ThreadStore, rowsRead: () => number): Opened {
  let loads: (readonly [number, number])[] = [];
  let before = 0;
  const load: ThreadStore["load"] = async (id, options) => {
    const thread = await inner.load(id, options);
    if (thread !== undefined && thread.rev > thread.firstSeq)
      loads.push([thread.firstSeq, thread.rev - thread.firstSeq]);
    return thread;
  };
  return {
    store: { ...inner, load },
    loads: () => {
      const made = loads;
      loads = [];
      return made;
    },
    rows: () => {
      const rows = rowsRead() - before;
      before = rowsRead();
      return rows;
    },
  };
}

/** A page, and at most one load of what lies before it. Few other rows are read. */
function expectOneLoad({ loads, rows }: Reads, made = loads()): void {
  const [page, rest, ...more] = made;
  expect(more, "growing loads").toEqual([]);
  // The first entry of the page is read again: it says that the rest is of the same thread.
  if (page !== undefined && rest !== undefined) expect(rest[0] + rest[1], "no other is loaded twice").toBe(page[0] + 1);
  const loaded = made.reduce((sum, [, count]) => sum + count, 0);
  expect(rows()).toBeLessThan(loaded + 80);
}

async function serverOn(store: ThreadStore, maxInputTokens: number): Promise<AgentServer> {
  const model = scriptedModel(["One.", "Two.", "Three."]);
  const contextPolicy = { maxInputTokens, reserveOutputTokens: 0 };
  return AgentServer.start({ agent: defineAgent({ name: "clerk", model, contextPolicy }), store, threadId: "t" });
}

describe.each(databases)("a thread in %s whose turns have 400 calls", (_, make) => {
  const open = async (): Promise<Open> => {
    const database = make();
    const { store } = database();
    for (let turn = 0; turn < TURNS; turn++) await store.append("t", longTurn(turn, CALLS));
    return database;
  };

  test("is projected from a page and one load, as from all of it", async () => {
    const database = await open();
    const reads = database();
    const thread = (await database().store.load("t")) ?? expect.fail("it was stored");
    for (const maxInputTokens of BUDGETS) {
      const policy = { maxInputTokens, reserveOutputTokens: 0 };
      const { meta } = await projectFromStore(reads.store, "t", { policy });
      expect(meta).toEqual(project({ thread, policy }).meta); // with the fingerprint of all messages
      expectOneLoad(reads);
    }
  });

  test("has a session that reads a page and one load at its start, and nothing more for its first call", async () => {
    const database = await open();
    for (const maxInputTokens of BUDGETS) {
      const reads = database();
      const server = await serverOn(reads.store, maxInputTokens);
      const { firstSeq } = await server.thread();
      expectOneLoad(reads);
      await server.explain();
      const { result } = await server.ask("And now?");
      await result;
      expect(reads.loads().filter(([from]) => from < firstSeq)).toEqual([]);
      await server.stop();
    }
  });

  test("has a live session that loads at most once for each later call", async () => {
    const reads = (await open())();
    const server = await serverOn(reads.store, 8000);
    await (await server.ask("And now?")).result;
    reads.loads();
    for (const text of ["And then?", "And after that?"]) {
      await (await server.ask(text)).result;
      // Between requests the memory may be given back, with a load of the end of the thread.
      expect(reads.loads().filter(([from, count]) => from + count < ROWS).length).toBeLessThanOrEqual(1);
    }
    await server.stop();
  });

  test("is resumed in the middle of a turn from a page and one load", async () => {
    const database = await open();
    await database().store.append("t", longTurn(TURNS, CALLS, { ends: false }));
    for (const maxInputTokens of [8000, 60_000]) {
      const reads = database();
      const server = await serverOn(reads.store, maxInputTokens);
      const [page, rest, shortened] = reads.loads();
      expect(page?.[0]).toBe((rest?.[0] ?? 0) + (rest?.[1] ?? 0) - 1); // the first entry of the page is read again
      // The request has ended: the memory is given back.
      if (shortened !== undefined) expect(shortened[0] + shortened[1]).toBeGreaterThan(ROWS + 2 * CALLS + 1);
      await server.stop();
    }
  });
});
