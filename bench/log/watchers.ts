import { setTimeout as sleep } from "node:timers/promises";
import { openStore, type ThreadStore } from "heddle";
import { postgresStore } from "heddle/postgres";
import { sqliteStore } from "heddle/sqlite";
import postgres from "postgres";
import { shareAtRest } from "../support/cpu.ts";
import { oneByOne, type Result } from "../support/lap.ts";
import { race } from "../support/race.ts";
import type { Table } from "../support/table.ts";
import type { Bench } from "./bench.ts";
import { messageOf } from "./message.ts";
import { postgresDatabase } from "./postgres-database.ts";
import type { Sizes } from "./sizes.ts";

const WATCHERS = 1000;
const POSTGRES_WATCHERS = 60;
/** An idle connection reports its statements to the server's statistics after ten seconds at most. */
const STATISTICS_MS = 11_000;

/** Appends to a thread without watchers, beside the watchers of other threads; and what these cost at rest. */
export async function watchers({ sizes, scratch, budgets }: Bench): Promise<Table> {
  const alone = sqliteStore(scratch.file("alone.db"));
  const watched = sqliteStore(scratch.file("watched.db"));
  const nothing = await shareAtRest(sizes.restMs);
  const stopWatching = watch(watched, WATCHERS);
  await sleep(1000); // all watchers have read
  const rest = await shareAtRest(sizes.restMs);
  const results = await raceAppends(alone, watched, sizes);
  await stopWatching();
  await Promise.all([alone.close(), watched.close()]);

  const busy = Math.max(0, rest - nothing);
  const ratio = results.watched.over(results.alone);
  return {
    id: "watchers",
    title: `Single appends in SQLite, and the same beside ${WATCHERS} watchers of other threads`,
    columns: [
      { key: "p50", label: "p50", unit: "us" },
      { key: "ratio", label: "to none", unit: "times" },
      { key: "busy", label: "of a core at rest", unit: "share" },
    ],
    rows: [
      { name: "no watchers", values: { p50: results.alone.p50 * 1000, ratio: 1, busy: nothing } },
      { name: `${WATCHERS} watchers`, values: { p50: results.watched.p50 * 1000, ratio, busy: rest } },
    ],
    checks: [
      budgets.atMost("appendBesideWatchers", ratio, {
        what: `append beside ${WATCHERS} watchers to none`,
        unit: "times",
      }),
      budgets.atMost("idleWatchersShare", busy, { what: `core share of ${WATCHERS} idle watchers`, unit: "share" }),
    ],
  };
}

/** The statements that idle watchers of one process send to Postgres, and appends beside watchers of other threads. */
export async function postgresWatchers({ sizes, budgets }: Bench): Promise<Table> {
  const table = {
    id: "postgres-watchers",
    title: "Watchers on Postgres: statements at rest, and single appends beside them",
  };
  const database = await postgresDatabase();
  const store = await openStore(database.url);
  const sql = postgres(database.url, { max: 1, onnotice: () => {} });
  try {
    await store.append("thread_0", messageOf(0));
    const stopWatching = watch(store, POSTGRES_WATCHERS);
    await sleep(STATISTICS_MS); // all watchers have read, and the server has counted it
    const before = await transactionsOf(sql);
    const started = performance.now();
    await sleep(sizes.restMs * 2);
    const statements = (await transactionsOf(sql)) - before; // with one of this bench
    const perSecond = statements / ((performance.now() - started) / 1000);
    await stopWatching();
    const ratio = await appendBesidePostgresWatchers(database.url, sizes);
    return {
      ...table,
      columns: [
        { key: "rate", label: "statements", unit: "per second" },
        { key: "ratio", label: "append, to none", unit: "times" },
      ],
      rows: [
        { name: `${POSTGRES_WATCHERS} watchers`, values: { rate: perSecond } },
        { name: `${WATCHERS} watchers`, values: { ratio } },
      ],
      checks: [
        budgets.atMost("postgresAppendBesideWatchers", ratio, {
          what: `Postgres, append beside ${WATCHERS} watchers to none`,
          unit: "times",
        }),
        budgets.atMost("idlePostgresStatements", perSecond, {
          what: `statements of ${POSTGRES_WATCHERS} idle watchers`,
          unit: "per second",
        }),
      ],
    };
  } finally {
    await sql.end({ timeout: 5 });
    await store.close();
    await database.drop();
  }
}

/** In two schemas of one database. How many times as long as without watchers an append takes. */
async function appendBesidePostgresWatchers(url: string, sizes: Sizes): Promise<number> {
  const alone = postgresStore(url, { schema: "alone" });
  const watched = postgresStore(url, { schema: "watched" });
  const stopWatching = watch(watched, WATCHERS);
  await watched.append("unwatched", messageOf(0)); // after the first reads of the watchers
  const results = await raceAppends(alone, watched, sizes);
  await stopWatching();
  await Promise.all([alone.close(), watched.close()]);
  return results.watched.over(results.alone);
}

/** Single appends to a thread without watchers, in both stores in turns. */
function raceAppends(
  alone: ThreadStore,
  watched: ThreadStore,
  { rounds, appendsPerRound }: Sizes,
): Promise<Record<"alone" | "watched", Result>> {
  let appended = 0;
  const append = (store: ThreadStore) => () =>
    oneByOne(appendsPerRound, () => store.append("unwatched", messageOf(appended++)));
  return race({ alone: append(alone), watched: append(watched) }, { rounds: Math.max(3, rounds >> 1) });
}

/** Watches so many threads until the returned function is called. */
function watch(store: ThreadStore, count: number): () => Promise<void> {
  const stop = new AbortController();
  const over = Promise.all(
    Array.from({ length: count }, async (_, n) => {
      for await (const _entry of store.watch(`thread_${n}`, { fromSeq: 0, signal: stop.signal }));
    }),
  );
  return async () => {
    stop.abort();
    await over;
  };
}

/** Each statement outside a transaction is one of its own. */
async function transactionsOf(sql: postgres.Sql): Promise<number> {
  const [found] = await sql<{ count: string }[]>`
    select xact_commit + xact_rollback as count from pg_stat_database where datname = current_database()`;
  return Number(found?.count);
}
