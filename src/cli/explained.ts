import type { ExplainedEntry } from "../projection/projection.ts";
import type { Output } from "./output.ts";
import { table } from "./text.ts";

/** A line for each entry: what became of it, by which rule, what it costs, in which message it is. */
export async function printExplained(out: Output, explained: readonly ExplainedEntry[]): Promise<void> {
  const rows = explained.map(({ seq, kind, status, rule, tokens, message }) => [
    String(seq),
    kind,
    status,
    rule,
    String(tokens),
    message === undefined ? "" : `[${message}]`,
  ]);
  const lines = table([["seq", "kind", "status", "rule", "tokens", "message"], ...rows], out.width);
  for (const [index, line] of lines.entries()) {
    const isShown = index === 0 || explained[index - 1]?.status === "shown";
    await out.data(index === 0 ? out.paint("bold", line) : isShown ? line : out.paint("dim", line));
  }
}
