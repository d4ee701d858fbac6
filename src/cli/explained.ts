import type { ExplainedEntry } from "../projection/projection.ts";
import type { Output } from "./output.ts";
import { printTable } from "./print-table.ts";

const COLUMNS = ["seq", "kind", "status", "rule", "tokens", "message"];

/** A line for each entry: what became of it, by which rule, what it costs, in which message it is. */
export async function printExplained(out: Output, explained: readonly ExplainedEntry[]): Promise<void> {
  const rows = explained.map(({ seq, toSeq, kind, status, rule, tokens, message }) => [
    toSeq === undefined ? String(seq) : `${seq}-${toSeq}`,
    kind,
    status,
    rule,
    String(tokens),
    message === undefined ? "" : `[${message}]`,
  ]);
  await printTable(out, COLUMNS, rows, (row) => explained[row]?.status !== "shown");
}
