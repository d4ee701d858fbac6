import { statSync } from "node:fs";
import type { ThreadStore } from "heddle";
import { sqliteStore } from "heddle/sqlite";
import { median } from "../support/statistics.ts";
import type { Row, Table } from "../support/table.ts";
import type { Bench } from "./bench.ts";
import { messageOf, PAYLOAD_BYTES } from "./message.ts";

const LANES = 4000;

/** Appends to a thread whose entries are on many lanes in turn, beside the same appends to a thread with one lane. */
export async function lanes({ sizes, scratch, budgets }: Bench): Promise<Table> {
  const paths = [scratch.file("lanes-one.db"), scratch.file("lanes-many.db")] as const;
  const one = new Appender(sqliteStore(paths[0], { mode: "relaxed" }), 1);
  const many = new Appender(sqliteStore(paths[1], { mode: "relaxed" }), LANES);
  for (const appender of [one, many]) await appender.begin();
  const cpu = { one: [] as number[], many: [] as number[] };
  for (let round = -2; round < sizes.rounds; round++) {
    for (const name of round % 2 === 0 ? (["one", "many"] as const) : (["many", "one"] as const)) {
      const used = await (name === "one" ? one : many).lap(sizes.appendsPerRound);
      if (round >= 0) cpu[name].push(used);
    }
  }
  for (const appender of [one, many]) await appender.close();
  const bytes = paths.map((path) => statSync(path).size / one.appended);
  const row = (name: string, used: readonly number[], stored: number | undefined): Row => ({
    name,
    values: { cpu: median(used), bytes: stored ?? 0 },
  });
  return {
    id: "lanes",
    title: `${LANES} lanes in one thread: ${one.appended} entries of ${PAYLOAD_BYTES} bytes, CPU of single appends`,
    columns: [
      { key: "cpu", label: "CPU of an append", unit: "us" },
      { key: "bytes", label: "an entry in the file", unit: "bytes" },
    ],
    rows: [row("one lane", cpu.one, bytes[0]), row(`${LANES} lanes in turn`, cpu.many, bytes[1])],
    checks: [
      budgets.atMost("lanes4000ToOneLaneCpu", median(cpu.many) / median(cpu.one), {
        what: `CPU of an append to ${LANES} lanes to one lane`,
        unit: "times",
      }),
      budgets.atMost("lanes4000ToOneLaneBytes", (bytes[1] ?? 0) / (bytes[0] ?? 0), {
        what: `bytes of ${LANES} lanes to one lane`,
        unit: "times",
      }),
    ],
  };
}

class Appender {
  appended = 0;
  readonly #store: ThreadStore;
  readonly #lanes: number;

  constructor(store: ThreadStore, lanes: number) {
    this.#store = store;
    this.#lanes = lanes;
  }

  /** Puts an entry on each lane, and as many into the thread with one lane. */
  async begin(): Promise<void> {
    await this.#store.append(
      "thread_1",
      Array.from({ length: LANES }, () => this.#next()),
    );
  }

  /** Microseconds of CPU for each append. */
  async lap(appends: number): Promise<number> {
    const before = process.cpuUsage();
    for (let n = 0; n < appends; n++) await this.#store.append("thread_1", this.#next());
    const { user, system } = process.cpuUsage(before);
    return (user + system) / appends;
  }

  async close(): Promise<void> {
    await this.#store.close();
  }

  #next() {
    const { payload, ...entry } = messageOf(this.appended);
    const lane = this.#lanes === 1 ? {} : { contextRef: `lane ${this.appended % this.#lanes}` };
    this.appended++;
    return { ...entry, payload: { ...payload, ...lane } };
  }
}
