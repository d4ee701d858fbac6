import type { Result } from "./lap.ts";
import type { Row, Table } from "./table.ts";

/** The columns of `latencyRow`. */
export function latencyColumns(baseline: string): Table["columns"] {
  return [
    { key: "p50", label: "p50", unit: "ms" },
    { key: "p99", label: "p99", unit: "ms" },
    { key: "rate", label: "appends", unit: "per second" },
    { key: "ratio", label: `time to ${baseline}`, unit: "times" },
  ];
}

/** The times of single operations, their rate, and the time of one beside that of the baseline. */
export function latencyRow(name: string, result: Result, baseline: Result): Row {
  return {
    name,
    values: { p50: result.p50, p99: result.p99, rate: result.perSecond, ratio: result.over(baseline) },
  };
}
