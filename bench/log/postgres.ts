import { openStore, type ThreadStore } from "heddle";
import postgres from "postgres";
import { atOnce, oneByOne, type Result } from "../support/lap.ts";
import { latencyColumns, latencyRow } from "../support/latency.ts";
import { race } from "../support/race.ts";
import type { Table } from "../support/table.ts";
import { AGENTS } from "./agents.ts";
import type { Bench } from "./bench.ts";
import { messageOf, payloadOf } from "./message.ts";
import { type PostgresDatabase, postgresDatabase } from "./postgres-database.ts";
import type { Sizes } from "./sizes.ts";

/** Single appends and many agents again, on a server. */
export async function postgresAppends({ sizes }: Bench): Promise<Table> {
  let database: PostgresDatabase;
  try {
    database = await postgresDatabase();
  } catch (error) {
    return { ...EMPTY, rows: [{ name: "heddle/postgres", values: {}, unavailable: reasonOf(error) }] };
  }
  try {
    return await measure(sizes, database);
  } catch (error) {
    return { ...EMPTY, rows: [{ name: "heddle/postgres", values: {}, unavailable: reasonOf(error) }] };
  } finally {
    await database.drop();
  }
}

const EMPTY: Table = { id: "postgres", title: "Postgres", columns: [], rows: [] };

async function measure(sizes: Sizes, { url, version, synchronousCommit }: PostgresDatabase): Promise<Table> {
  const store = await openStore(url);
  const sql = postgres(url, { onnotice: () => {} });
  try {
    const results = await raceAppends(sizes, store, sql);
    return {
      id: "postgres",
      title: `Postgres ${version}, synchronous_commit=${synchronousCommit}: single append, and ${AGENTS} agents at once`,
      columns: latencyColumns("baseline"),
      rows: [
        latencyRow("baseline: bare insert, one agent", results.bareOne, results.bareOne),
        latencyRow("heddle/postgres, one agent", results.heddleOne, results.bareOne),
        latencyRow(`baseline: bare inserts, ${AGENTS} agents`, results.bareMany, results.bareMany),
        latencyRow(`heddle/postgres, ${AGENTS} agents`, results.heddleMany, results.bareMany),
      ],
      notes: [
        "The baseline inserts into one table with (thread, seq) as its key, through postgres.js with its own default of connections.",
      ],
    };
  } finally {
    await sql.end({ timeout: 5 });
    await store.close();
  }
}

async function raceAppends(
  { rounds, appendsPerRound, appendsPerAgent }: Sizes,
  store: ThreadStore,
  sql: postgres.Sql,
): Promise<Record<"bareOne" | "heddleOne" | "bareMany" | "heddleMany", Result>> {
  await sql`CREATE TABLE bare (
    thread text NOT NULL, seq bigint NOT NULL, id text NOT NULL, payload text NOT NULL, PRIMARY KEY (thread, seq))`;
  let seq = 0;
  let appended = 0;
  const insert = async (thread: string): Promise<void> => {
    const next = seq++;
    const payload = JSON.stringify(payloadOf(next));
    await sql`INSERT INTO bare (thread, seq, id, payload)
      VALUES (${thread}, ${next}, ${`entry_00000000-0000-7000-8000-${String(next).padStart(12, "0")}`}, ${payload})`;
  };
  return race(
    {
      bareOne: () => oneByOne(appendsPerRound, () => insert("alone")),
      heddleOne: () => oneByOne(appendsPerRound, () => store.append("thread_alone", messageOf(appended++))),
      bareMany: () => atOnce(AGENTS, appendsPerAgent, (agent) => insert(`thread_${agent}`)),
      heddleMany: () =>
        atOnce(AGENTS, appendsPerAgent, (agent) => store.append(`thread_${agent}`, messageOf(appended++))),
    },
    { rounds: Math.max(3, rounds >> 1) },
  );
}

function reasonOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split("\n")[0] ?? "unknown";
}
