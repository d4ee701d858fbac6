import { globSync, readFileSync } from "node:fs";
import { root } from "./built.ts";

/** A fenced block of a page. */
interface Block {
  /** Such as "ts no-run". */
  readonly info: string;
  /** Of its first line of text in the page, from 1. */
  readonly line: number;
  readonly text: string;
}

/** One or more TypeScript blocks of a page that run as one file. */
export interface Program {
  readonly page: string;
  readonly line: number;
  /** Every line stands at its own place in the page, so that an error names the line of the page. */
  readonly text: string;
  readonly runs: boolean;
  /** What it prints, in order, say the comments behind `console.log(...);` and a block "text output" below. */
  readonly prints: readonly string[];
}

/** The first line of a block that belongs to the one above it. */
const GOES_ON = "// continues the block above";

/** The info string of a block that shows what the code above it prints. */
const OUTPUT = "text output";

export function pages(): readonly string[] {
  return [...globSync("*.md", { cwd: root }), ...globSync("docs/**/*.md", { cwd: root })].sort();
}

export function pageText(page: string): string {
  return readFileSync(`${root}${page}`, "utf8");
}

function blocksOf(text: string): readonly Block[] {
  const blocks: Block[] = [];
  let open: { readonly info: string; readonly line: number; readonly lines: string[] } | undefined;
  for (const [index, line] of text.split("\n").entries()) {
    const fence = /^```(.*)$/.exec(line);
    if (fence === null) open?.lines.push(line);
    else if (open === undefined) open = { info: fence[1]?.trim() ?? "", line: index + 2, lines: [] };
    else {
      blocks.push({ info: open.info, line: open.line, text: open.lines.join("\n") });
      open = undefined;
    }
  }
  return blocks;
}

export function programsOf(page: string): readonly Program[] {
  const chains: Block[][] = [];
  for (const block of blocksOf(pageText(page)).filter(({ info }) => /^ts\b/.test(info) || info === OUTPUT)) {
    const above = chains.at(-1);
    if (above !== undefined && (block.text.startsWith(GOES_ON) || block.info === OUTPUT)) above.push(block);
    else chains.push([block]);
  }
  return chains.map((chain) => programOf(page, chain));
}

function programOf(page: string, chain: readonly Block[]): Program {
  const lines: string[] = [];
  const output = chain.filter(({ info }) => info === OUTPUT).flatMap(({ text }) => text.split("\n"));
  for (const { info, line, text } of chain) {
    if (info === OUTPUT) continue;
    while (lines.length < line - 1) lines.push("");
    lines.push(...text.split("\n"));
  }
  return {
    page,
    line: chain[0]?.line ?? 1,
    text: lines.join("\n"),
    runs: !chain.some(({ info }) => info.includes("no-run")),
    prints: [...lines.flatMap((line) => /console\.log\(.*\); \/\/ (.+)$/.exec(line)?.[1] ?? []), ...output],
  };
}
