import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { type SqliteMode, sqliteStore } from "heddle/sqlite";
import { median } from "../support/statistics.ts";
import type { Row, Table } from "../support/table.ts";
import type { Bench } from "./bench.ts";
import { messageOf } from "./message.ts";

const CHILD = fileURLToPath(new URL("processes-child.ts", import.meta.url));
const SEVERAL = 4;
const MANY = 40;

/** Processes that start at once. More would need much memory and CPU time at the same moment. */
const STARTS = 8;

/** The measurements of one process. */
export interface Appended {
  /** Of all its appends, in milliseconds. */
  readonly ms: number;
  readonly cpuMs: number;
  /** Of each append, in milliseconds. */
  readonly waits: readonly number[];
  /** Of the event loop, measured in the mode "relaxed": in the other one a turn has a sync, and measuring has a cost. */
  readonly longestTurnMs?: number | undefined;
  readonly errors: number;
}

interface Group {
  readonly processes: number;
  /** Of each process, before the measured ones. */
  readonly warmup: number;
  /** Of all processes together. */
  readonly appends: number;
  readonly mode?: SqliteMode;
}

type Lap = readonly Appended[];

/** Single appends to one file of SQLite, by one process and by several at once. */
export async function processes({ sizes, scratch, budgets }: Bench): Promise<Table> {
  const { appendsPerRound, rounds } = sizes;
  const appends = appendsPerRound * SEVERAL;
  const shared = await newFile(scratch.file("processes.db"));
  const one: Lap[] = [];
  const several: Lap[] = [];
  const relaxed: Lap[] = [];
  const many: Lap[] = [];
  for (let round = 0; round < Math.max(3, rounds >> 2); round++) {
    one.push(await run(shared, { processes: 1, warmup: 100, appends }));
    several.push(await run(shared, { processes: SEVERAL, warmup: 100, appends }));
    const fresh = await newFile(scratch.file(`relaxed-${round}.db`)); // without checkpoints, so without syncs
    relaxed.push(await run(fresh, { processes: SEVERAL, warmup: 100, appends, mode: "relaxed" }));
  }
  for (let round = 0; round < (rounds < 10 ? 1 : 5); round++)
    many.push(await run(shared, { processes: MANY, warmup: 10, appends: appendsPerRound * MANY }));
  const errors = (laps: readonly Lap[]) => sum(laps.map((lap) => sum(lap.map(({ errors }) => errors))));
  return {
    id: "processes",
    title: "Single appends to one file of SQLite",
    columns: [
      { key: "rate", label: "appends", unit: "per second" },
      { key: "mean", label: "mean", unit: "ms" },
      { key: "slowest", label: "slowest", unit: "ms" },
      { key: "cpu", label: "CPU of an append", unit: "us" },
      { key: "turn", label: "longest turn", unit: "ms" },
    ],
    rows: [
      row("by one process", one),
      row(`by ${SEVERAL} processes at once`, several),
      row(`by ${SEVERAL} processes, without syncs`, relaxed),
      row(`by ${MANY} processes at once`, many),
    ],
    checks: [
      budgets.atMost("processes4Errors", errors([...one, ...several, ...relaxed]), {
        what: `failed appends of ${SEVERAL} processes`,
        unit: "count",
      }),
      budgets.atMost("processes4ToOneCpu", median(several.map(cpuOf)) / median(one.map(cpuOf)), {
        what: `CPU of the appends of ${SEVERAL} processes to those of one`,
        unit: "times",
      }),
      budgets.atMost("processes4TurnMilliseconds", longestTurn(relaxed), {
        what: `longest turn of ${SEVERAL} processes, without syncs`,
        unit: "ms",
      }),
      budgets.atMost("processes40Errors", errors(many), { what: `failed appends of ${MANY} processes`, unit: "count" }),
      budgets.atMost("processes40SlowestToMean", median(many.map((lap) => slowestOf(lap) / meanOf(lap))), {
        what: `slowest append of ${MANY} processes to the mean one`,
        unit: "times",
      }),
    ],
  };
}

async function newFile(path: string): Promise<string> {
  const store = sqliteStore(path);
  await store.append("thread", messageOf(0));
  await store.close();
  return path;
}

/** All processes are warm and ready before the first measured append, and close after the last. */
async function run(path: string, { processes, warmup, appends, mode = "durable" }: Group): Promise<Lap> {
  const children: ChildProcess[] = [];
  try {
    while (children.length < processes) {
      const started = Array.from({ length: Math.min(STARTS, processes - children.length) }, (_, n) =>
        fork(CHILD, [path, `thread_${children.length + n}`, String(appends / processes), String(warmup), mode]),
      );
      children.push(...started);
      await Promise.all(started.map(answerOf));
    }
    const lap = Promise.all(children.map(answerOf));
    for (const child of children) child.send("start");
    const measured = (await lap) as Appended[]; // the second message of the script
    const exits = Promise.all(children.map((child) => once(child, "exit")));
    for (const child of children) child.send("end");
    await exits;
    return measured;
  } finally {
    for (const child of children) child.kill();
  }
}

/** The next message of a process. */
function answerOf(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    child.once("message", resolve);
    child.once("exit", (code) => reject(new Error(`A process of the bench ended with code ${code}.`)));
  });
}

function row(name: string, laps: readonly Lap[]): Row {
  const count = laps[0]?.flatMap(({ waits }) => waits).length ?? 0;
  return {
    name,
    values: {
      rate: (count * 1000) / median(laps.map((lap) => Math.max(...lap.map(({ ms }) => ms)))),
      mean: median(laps.map(meanOf)),
      slowest: median(laps.map(slowestOf)),
      cpu: (median(laps.map(cpuOf)) * 1000) / count,
      turn: laps[0]?.[0]?.longestTurnMs === undefined ? undefined : longestTurn(laps),
    },
  };
}

function longestTurn(laps: readonly Lap[]): number {
  return median(laps.map((lap) => Math.max(...lap.map(({ longestTurnMs = Number.NaN }) => longestTurnMs))));
}

function slowestOf(lap: Lap): number {
  return Math.max(...lap.flatMap(({ waits }) => waits));
}

function meanOf(lap: Lap): number {
  const waits = lap.flatMap(({ waits }) => waits);
  return sum(waits) / waits.length;
}

function cpuOf(lap: Lap): number {
  return sum(lap.map(({ cpuMs }) => cpuMs));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
