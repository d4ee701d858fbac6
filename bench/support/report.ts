import { type Machine, renderMachine } from "./machine.ts";
import { renderChecks, renderTable, type Table } from "./table.ts";

export interface ReportOptions {
  readonly title: string;
  readonly json: boolean;
  /** Whether a missed budget makes the exit code 1. */
  readonly check: boolean;
}

/** Prints tables as they come, or, as JSON, all of them at the end. */
export class Report {
  readonly #options: ReportOptions;
  readonly #machine: Machine;
  readonly #tables: Table[] = [];

  constructor(machine: Machine, options: ReportOptions) {
    this.#machine = machine;
    this.#options = options;
    if (!options.json) console.log(`${options.title}\n${renderMachine(machine)}`);
  }

  add(table: Table): void {
    this.#tables.push(table);
    if (!this.#options.json) console.log(`\n${renderTable(table)}`);
  }

  /** Records a failed measurement. The others continue, and the exit code is 1. */
  fail(id: string, error: unknown): void {
    console.error(error);
    const [reason = ""] = String(error).split("\n");
    this.add({ id, title: id, columns: [], rows: [{ name: "all of it", values: {}, unavailable: reason }] });
    process.exitCode = 1;
  }

  finish(seconds: number): void {
    const checks = this.#tables.flatMap((table) => table.checks ?? []);
    const missed = checks.filter(({ ok }) => !ok).length;
    const { title, json, check } = this.#options;
    if (json) {
      const tables = this.#tables.map(({ checks: _, ...table }) => table);
      console.log(JSON.stringify({ title, machine: this.#machine, seconds, tables, budgets: checks }, null, 2));
    } else {
      console.log(
        ["", "Budgets", ...renderChecks(checks).map((line) => `  ${line.slice("budget: ".length)}`)].join("\n"),
      );
      console.log(`\n${checks.length - missed} of ${checks.length} budgets met, ${Math.round(seconds)} s`);
    }
    if (check && missed > 0) process.exitCode = 1;
  }
}
