import type { Check } from "./budgets.ts";
import { show, type Unit } from "./units.ts";

interface Column {
  /** Of the row's values, and in the JSON. */
  readonly key: string;
  readonly label: string;
  readonly unit: Unit;
}

export interface Row {
  readonly name: string;
  readonly values: Readonly<Record<string, number | undefined>>;
  /** Instead of values: why there are none. */
  readonly unavailable?: string;
  /** Printed after the values. */
  readonly remark?: string;
}

export interface Table {
  readonly id: string;
  readonly title: string;
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
  readonly checks?: readonly Check[];
  /** Notes for readers of the numbers, one sentence a line. */
  readonly notes?: readonly string[];
}

/** The table as plain text, no line of it longer than its content. */
export function renderTable({ title, columns, rows, checks = [], notes = [] }: Table): string {
  const head = ["", ...columns.map(({ label }) => label), ""];
  const body = rows.map(({ name, values, remark = "" }) => [
    name,
    ...columns.map(({ key, unit }) => show(values[key], unit)),
    remark,
  ]);
  const widths = head.map((label, index) => Math.max(label.length, ...body.map((cells) => cells[index]?.length ?? 0)));
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, index) => (index === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[index] ?? 0)))
      .join("   ")
      .trimEnd();
  const lines = body.map((cells, index) => {
    const reason = rows[index]?.unavailable;
    return reason === undefined ? line(cells) : `${(cells[0] ?? "").padEnd(widths[0] ?? 0)}   not available: ${reason}`;
  });
  return [
    title,
    ...[...(columns.length > 0 ? [line(head)] : []), ...lines].map((text) => `  ${text}`),
    ...renderChecks(checks).map((text) => `  ${text}`),
    ...notes.map((note) => `  # ${note}`),
  ].join("\n");
}

/** `budget  what  measured  bound  ok`, in columns. */
export function renderChecks(checks: readonly Check[]): string[] {
  const cells = checks.map(({ what, measured, bound, budget, unit, ok }) => [
    what,
    measured === undefined ? "not measured" : show(measured, unit),
    `${bound} ${show(budget, unit)}`,
    ok ? "ok" : "MISSED",
  ]);
  const widths = [0, 1, 2].map((index) => Math.max(0, ...cells.map((line) => line[index]?.length ?? 0)));
  return cells.map(
    ([what = "", measured = "", bound = "", verdict = ""]) =>
      `budget: ${what.padEnd(widths[0] ?? 0)}   ${measured.padStart(widths[1] ?? 0)}   ${bound.padEnd(widths[2] ?? 0)}   ${verdict}`,
  );
}
