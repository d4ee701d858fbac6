import { type EntryInput, Thread } from "heddle";
import { type Lap, type Result, together } from "../support/lap.ts";
import { type Contender, race } from "../support/race.ts";
import type { Row, Table } from "../support/table.ts";
import { showSize } from "../support/units.ts";
import type { Bench } from "./bench.ts";
import { payloadOf } from "./message.ts";

const OPERATIONS = 500;
const ENTRIES_PER_REQUEST = 4;

/** The thread as a value: what its questions cost when it has grown long. */
export async function memory({ sizes, budgets }: Bench): Promise<Table> {
  const { memory: counts, memoryRounds: rounds } = sizes;
  const built = await race(perSize(counts, buildLap), { rounds: Math.max(1, Math.min(3, rounds >> 2)), warmup: 1 });
  const threads = new Map(counts.map((count) => [count, grown(count)]));
  const thread = (count: number): Thread => threads.get(count) ?? grown(count);

  const at = await race(
    perSize(counts, (count) => atLap(thread(count))),
    { rounds, warmup: 3 },
  );
  const byRef = await race(
    perSize(counts, (count) => refLap(thread(count))),
    { rounds, warmup: 3 },
  );
  const appended = await race(
    perSize(counts, (count) => {
      // A short thread would not be short any more after a few rounds, so each round takes a fresh one.
      let current = count <= 10 * OPERATIONS ? grown(count) : thread(count);
      const lap = together(OPERATIONS, (index) => {
        current = current.append(input(index));
      });
      threads.set(count, current);
      return lap;
    }),
    { rounds, warmup: 3 },
  );
  const asked = await race(
    perSize(counts, (count) => {
      let current = count <= 10 * OPERATIONS ? grown(count) : thread(count);
      current.filterByRef("requestId", requestOf(0));
      const lap = together(OPERATIONS, (index) => {
        current = current.append(input(index));
        current.filterByRef("requestId", requestOf(index));
      });
      threads.set(count, current);
      return lap;
    }),
    { rounds, warmup: 3 },
  );

  const row = (name: string, results: Readonly<Record<string, Result>>): Row => ({
    name,
    values: {
      ...Object.fromEntries(Object.entries(results).map(([size, result]) => [size, result.perOperation * 1e6])),
      flat: flatness(results),
    },
  });
  const flatness = (results: Readonly<Record<string, Result>>): number | undefined => {
    const [small, large] = [results[keyOf(counts[0])], results[keyOf(counts[2])]];
    return small && large?.over(small);
  };
  const span = `${showSize(counts[0])} to ${showSize(counts[2])}`;
  return {
    id: "memory",
    title: `In memory: a thread of so many entries, ${rounds} rounds of ${OPERATIONS}`,
    columns: [
      ...counts.map((count) => ({ key: keyOf(count), label: `at ${showSize(count)}`, unit: "ns" as const })),
      { key: "flat", label: `${showSize(counts[2])} to ${showSize(counts[0])}`, unit: "times" },
    ],
    rows: [
      row("append", appended),
      row("append, all of them from empty on", built),
      row("at", at),
      row("filterByRef", byRef),
      row("append and filterByRef", asked),
    ],
    checks: [
      budgets.atMost("memoryAppendLargeToSmall", flatness(appended), {
        what: `append, flat from ${span}`,
        unit: "times",
      }),
      budgets.atMost("memoryAtLargeToSmall", flatness(at), { what: `at, flat from ${span}`, unit: "times" }),
    ],
    notes: [
      `at asks for ${OPERATIONS} places spread evenly over the thread, so that it is the thread that is measured and not the CPU's cache.`,
      `filterByRef finds ${ENTRIES_PER_REQUEST} entries; its index is there, and in the last row has to be continued.`,
    ],
  };
}

function perSize(counts: readonly number[], lapOf: (count: number) => Lap): Record<string, Contender> {
  return Object.fromEntries(counts.map((count) => [keyOf(count), () => lapOf(count)]));
}

function keyOf(count: number): string {
  return `at_${count}`;
}

function input(index: number): EntryInput {
  const payload = payloadOf(index);
  return { kind: "message", payload, refs: { requestId: requestOf(index) } };
}

function requestOf(index: number): string {
  return `request_${Math.floor(index / ENTRIES_PER_REQUEST)}`;
}

function grown(count: number): Thread {
  return Thread.create().append(Array.from({ length: count }, (_, index) => input(index)));
}

function buildLap(count: number): Lap {
  const times = Math.max(1, Math.round(20_000 / count));
  const { operations, ms } = together(times, () => {
    let thread = Thread.create();
    for (let index = 0; index < count; index += 1) thread = thread.append(input(index));
  });
  return { operations: operations * count, ms, each: [] };
}

function atLap(thread: Thread): Lap {
  const step = Math.floor(thread.entryCount / OPERATIONS);
  let sum = 0;
  const lap = together(OPERATIONS * 10, (index) => {
    sum += thread.at((index % OPERATIONS) * step)?.seq ?? Number.NaN;
  });
  if (!(sum > 0)) throw new Error("An entry is missing.");
  return lap;
}

function refLap(thread: Thread): Lap {
  const requests = Math.floor(thread.entryCount / ENTRIES_PER_REQUEST);
  const step = Math.max(1, Math.floor(requests / OPERATIONS));
  const asked = Array.from({ length: OPERATIONS }, (_, index) =>
    requestOf(((index * step) % requests) * ENTRIES_PER_REQUEST),
  );
  return together(OPERATIONS, (index) => {
    const found = thread.filterByRef("requestId", asked[index] ?? "").length;
    if (found < ENTRIES_PER_REQUEST) throw new Error(`Found ${found} entries of ${asked[index]}.`);
  });
}
