import { copyFileSync } from "node:fs";
import type { ThreadStore } from "heddle";
import { postgresStore } from "heddle/postgres";
import { sqliteStore } from "heddle/sqlite";
import { oneByOne, type Result } from "../support/lap.ts";
import { race } from "../support/race.ts";
import { median } from "../support/statistics.ts";
import type { Row, Table } from "../support/table.ts";
import { showSize } from "../support/units.ts";
import type { Bench } from "./bench.ts";
import { appendRequests, THREAD } from "./fixtures.ts";
import { postgresDatabase } from "./postgres-database.ts";
import type { Sizes } from "./sizes.ts";
import { bytesOfDatabase, bytesOfFile, type TableBytes } from "./table-bytes.ts";

const SHORT = 1000;
/** Short threads. Those after the first are only deleted. */
const SHORTS = Array.from({ length: 6 }, (_, n) => `short_${n}`);

/** The threads that are forked. The last one is itself a fork of the long one. */
const KINDS = ["long", "short", "fork"] as const;
type Kind = (typeof KINDS)[number];

interface Measured {
  readonly times: Readonly<Record<Kind, Result>>;
  /** Milliseconds of a fork, round by round. */
  readonly cpu: Readonly<Record<Kind, readonly number[]>>;
  /** Of a fork. */
  readonly bytes: Readonly<Record<Kind, TableBytes>>;
  /** Milliseconds of CPU of the removal of a thread that a fork shows. */
  readonly removal: { readonly long: number; readonly short: number };
}

/** How many times as much a fork of one thread costs as of another. SQLite works in this process, and Postgres does not. */
type Ratio = (measured: Measured, of: Kind, to: Kind) => number;
const inCpu: Ratio = ({ cpu }, of, to) => median(cpu[of].map((ms, round) => ms / (cpu[to][round] ?? Number.NaN)));
const inTime: Ratio = ({ times }, of, to) => times[of].medianOver(times[to]);

/** Forks of a long thread, of a short one, and of a fork of the long one. Then the removal of threads that forks show. */
export async function forks({ sizes, scratch, fixtures, budgets }: Bench): Promise<Table> {
  const path = scratch.file("forks.db");
  copyFileSync(await fixtures.requests(sizes.long), path);
  const inSqlite = await measure(sqliteStore(path, { mode: "relaxed" }), sizes, async () => bytesOfFile(path));
  const server = await postgresDatabase();
  const store = postgresStore(server.url, { mode: "relaxed" });
  let inPostgres: Measured;
  try {
    await appendRequests(store, THREAD, sizes.long);
    inPostgres = await measure(store, sizes, () => bytesOfDatabase(server.url));
  } finally {
    await store.close();
    await server.drop();
  }
  const stores = [inSqlite, inPostgres];
  const largest = (of: (measured: Measured) => number): number => Math.max(...stores.map(of));
  const long = showSize(sizes.long);
  return {
    id: "forks",
    title: `A fork of a thread of ${long} entries, in SQLite and in Postgres`,
    columns: [
      { key: "cpu", label: "CPU", unit: "ms" },
      { key: "p50", label: "p50", unit: "ms" },
      { key: "ratio", label: `to ${showSize(SHORT)}`, unit: "times" },
      { key: "tables", label: "in tables", unit: "bytes" },
      { key: "indexes", label: "in indexes", unit: "bytes" },
    ],
    rows: [...rowsOf("SQLite", inSqlite, inCpu, long), ...rowsOf("Postgres", inPostgres, inTime, long)],
    checks: [
      budgets.atMost(
        "forkCpuMilliseconds",
        largest(({ cpu }) => median(cpu.long)),
        {
          what: `a fork of ${long} entries, CPU`,
          unit: "ms",
        },
      ),
      budgets.atMost(
        "forkBytes",
        largest(({ bytes }) => Math.max(bytes.long.tables, bytes.fork.tables)),
        {
          what: `a fork of ${long} entries, bytes in tables`,
          unit: "bytes",
        },
      ),
      budgets.atMost(
        "forkLongToShort",
        Math.max(inCpu(inSqlite, "long", "short"), inTime(inPostgres, "long", "short")),
        {
          what: `a fork, ${long} entries to ${showSize(SHORT)}`,
          unit: "times",
        },
      ),
      budgets.atMost(
        "forkOfForkToFork",
        Math.max(inCpu(inSqlite, "fork", "long"), inTime(inPostgres, "fork", "long")),
        {
          what: "a fork of a fork to a fork",
          unit: "times",
        },
      ),
      budgets.atMost(
        "deleteForkedCpuMilliseconds",
        largest(({ removal }) => removal.long),
        {
          what: `removal of ${long} entries that a fork shows, CPU`,
          unit: "ms",
        },
      ),
    ],
    notes: [
      "Commits do not wait for the disk, so that times are those of the work.",
      "CPU is that of the process of heddle. The ratios are of CPU in SQLite, and of times in Postgres, which uses CPU of its own.",
    ],
  };
}

function rowsOf(store: string, measured: Measured, ratio: Ratio, long: string): Row[] {
  const { times, cpu, bytes, removal } = measured;
  const names = { long: `${long} entries`, short: `${showSize(SHORT)} entries`, fork: `a fork of ${long}` };
  return [
    ...KINDS.map((kind) => ({
      name: `${store}, fork of ${names[kind]}`,
      values: {
        cpu: median(cpu[kind]),
        p50: times[kind].p50,
        ratio: ratio(measured, kind, "short"),
        ...bytes[kind],
      },
    })),
    { name: `${store}, delete of ${names.short} with a fork`, values: { cpu: removal.short } },
    { name: `${store}, delete of ${names.long} with a fork`, values: { cpu: removal.long } },
  ];
}

/** The store has the long thread. It is closed at the end. */
async function measure(store: ThreadStore, sizes: Sizes, bytesOfAll: () => Promise<TableBytes>): Promise<Measured> {
  const { rounds, loadsPerRound, long, forksToWeigh } = sizes;
  for (const id of SHORTS) await appendRequests(store, id, SHORT);
  await store.fork(THREAD, { newId: "fork", atSeq: long - 1 });
  const parents = {
    long: { id: THREAD, atSeq: long - 1 },
    short: { id: SHORTS[0] ?? "", atSeq: SHORT - 1 },
    fork: { id: "fork", atSeq: long - 1 },
  };
  let count = 0;
  const forkOnce = (kind: Kind) =>
    store.fork(parents[kind].id, { newId: `fork_${count++}`, atSeq: parents[kind].atSeq });
  const used: Record<Kind, number[]> = { long: [], short: [], fork: [] };
  const lap = (kind: Kind) => async (round: number) => {
    const before = process.cpuUsage();
    const found = await oneByOne(loadsPerRound, () => forkOnce(kind));
    if (round >= 0) used[kind].push(milliseconds(before) / loadsPerRound);
    return found;
  };
  const times = await race(
    { long: lap("long"), short: lap("short"), fork: lap("fork") },
    { rounds: Math.max(3, rounds >> 1), warmup: 2 },
  );
  const weigh = async (kind: Kind): Promise<TableBytes> => {
    const before = await bytesOfAll();
    for (let n = 0; n < forksToWeigh; n++) await forkOnce(kind);
    const { tables, indexes } = await bytesOfAll();
    return { tables: (tables - before.tables) / forksToWeigh, indexes: (indexes - before.indexes) / forksToWeigh };
  };
  const bytes = { long: await weigh("long"), short: await weigh("short"), fork: await weigh("fork") };
  for (let n = 0; n < count; n++) await store.delete(`fork_${n}`);
  const short: number[] = [];
  for (const id of SHORTS) {
    await store.fork(id, { newId: `${id}_fork`, atSeq: SHORT - 1 });
    short.push(await cpuOfDelete(store, id));
  }
  const removal = { long: await cpuOfDelete(store, THREAD), short: median(short) };
  const last = await store.load("fork", { last: 1 });
  if (last?.last()?.seq !== long - 1) throw new Error("The fork has lost entries.");
  await store.close();
  return {
    times,
    cpu: used,
    bytes,
    removal,
  };
}

async function cpuOfDelete(store: ThreadStore, threadId: string): Promise<number> {
  const before = process.cpuUsage();
  await store.delete(threadId);
  return milliseconds(before);
}

function milliseconds(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
