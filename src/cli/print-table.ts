import type { Output } from "./output.ts";
import { table } from "./text.ts";

/** Prints rows. Column titles are printed only at a terminal, so that a pipe gets rows alone. */
export async function printTable(
  out: Output,
  head: readonly string[],
  rows: readonly (readonly string[])[],
  isDim: (row: number) => boolean = () => false,
): Promise<void> {
  if (rows.length === 0) return;
  const heads = out.isOnTerminal ? [head] : [];
  const lines = table([...heads, ...rows], out.width);
  for (const [index, line] of lines.entries()) {
    const row = index - heads.length;
    await out.data(row < 0 ? out.paint("bold", line) : isDim(row) ? out.paint("dim", line) : line);
  }
}
