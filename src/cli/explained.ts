import type { ExplainedEntry } from "../projection/projection.ts";
import type { Output } from "./output.ts";
import { printTable } from "./print-table.ts";

const COLUMNS = ["seq", "kind", "status", "rule", "tokens", "message"];

/** Prints one line for each entry: its status, the rule, its tokens, and the message that holds it. */
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
