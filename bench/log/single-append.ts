import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { sqliteStore } from "heddle/sqlite";
import { oneByOne, type Result } from "../support/lap.ts";
import { race } from "../support/race.ts";
import type { Row, Table } from "../support/table.ts";
import { Baseline } from "./baseline.ts";
import type { Bench } from "./bench.ts";
import { messageOf, PAYLOAD_BYTES, payloadOf } from "./message.ts";
import { SameTable } from "./same-table.ts";

const LAPS = 4;
/** Rounds before the first one that is measured. A store runs for long, and the first thousand appends are not yet compiled. */
const WARMUP = 10 * LAPS;

/** One agent appends, each time waiting until its entry is durable. */
export async function singleAppend({ sizes, scratch, budgets }: Bench): Promise<Table> {
  // Short laps, so that a disk that is slow for a moment is slow for all contenders.
  const [rounds, appendsPerRound] = [sizes.rounds * LAPS, Math.ceil(sizes.appendsPerRound / LAPS)];
  const least = new Baseline(scratch.file("single-least.db"));
  const baseline = await emptyTable(scratch.file("single-baseline.db"));
  const store = sqliteStore(scratch.file("single-heddle.db"));
  const file = openSync(scratch.file("single.jsonl"), "a");
  let written = 0;
  let inserted = 1;
  let kept = 0;
  let appended = 0;
  const results = await race(
    {
      file: () =>
        oneByOne(appendsPerRound, () => {
          writeSync(file, `${JSON.stringify(payloadOf(written++))}\n`);
          fdatasyncSync(file);
        }),
      least: () => oneByOne(appendsPerRound, () => least.insert("thread_1", kept, payloadOf(kept++))),
      baseline: () => oneByOne(appendsPerRound, () => baseline.insert(inserted, payloadOf(inserted++))),
      heddle: () => oneByOne(appendsPerRound, () => store.append("thread_1", messageOf(appended++))),
    },
    { rounds, warmup: WARMUP },
  );
  closeSync(file);
  least.close();
  baseline.close();
  await store.close();

  const row = (name: string, result: Result): Row => ({
    name,
    values: {
      p50: result.p50 * 1000,
      p99: result.p99 * 1000,
      rate: result.perSecond,
      toBaseline: result.over(results.baseline),
      toLeast: result.over(results.least),
    },
  });
  return {
    id: "single-append",
    title: `Single durable append: ${PAYLOAD_BYTES}-byte payloads, one after another, ${rounds} rounds of ${appendsPerRound} after ${WARMUP} that are not measured`,
    columns: [
      { key: "p50", label: "p50", unit: "us" },
      { key: "p99", label: "p99", unit: "us" },
      { key: "rate", label: "appends", unit: "per second" },
      { key: "toBaseline", label: "to baseline", unit: "times" },
      { key: "toLeast", label: "to the least", unit: "times" },
    ],
    rows: [
      row("a line in a file, fdatasync", results.file),
      row("the least: (thread, seq, id, payload), one key", results.least),
      row("baseline: bare prepared insert of heddle's row", results.baseline),
      row("heddle/sqlite append", results.heddle),
    ],
    checks: [
      budgets.atMost("singleAppendToBareInsert", results.heddle.over(results.baseline), {
        what: "single append to the bare insert",
        unit: "times",
      }),
    ],
  };
}

/** A table made by heddle, with one row that the baseline copies. */
async function emptyTable(path: string): Promise<SameTable> {
  const store = sqliteStore(path);
  await store.append("thread_1", messageOf(0));
  await store.close();
  return new SameTable(path);
}
