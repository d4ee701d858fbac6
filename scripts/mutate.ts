// `npm run mutate -- <folder or file>...`: breaks the code of a folder in 60 places, one at a time, and says which of these
// mutants no test notices. StrykerJS makes and runs the mutants; the sample is drawn here, by `--seed <n>` (default 1). With
// `--seed HEAD` the hash of the commit draws it.
import { execFileSync } from "node:child_process";
import { globSync, readFileSync, rmSync, statSync } from "node:fs";
import { constants, setPriority } from "node:os";
import { parseArgs } from "node:util";
import { Stryker } from "@stryker-mutator/core";
import { Instrumenter } from "@stryker-mutator/instrumenter";
import { EQUIVALENT_MUTANTS } from "./equivalent-mutants.ts";
import { root } from "./root.ts";

interface Place {
  readonly line: number;
  readonly column: number;
}

interface Mutant {
  readonly fileName: string;
  readonly mutatorName: string;
  readonly replacement: string;
  readonly location: { readonly start: Place; readonly end: Place };
}

const MUTANTS = 60;

/** The last branch of a switch over a union. The types prove that no value reaches it, so its mutants are equivalent. */
const UNREACHABLE = /^default:\s+return [\w.]+ satisfies never;$/;

/**
 * Which tests are run for a file or a folder, in this order: those that would be expected to notice, and that take seconds.
 * The fastest come first, because the first failure ends the run of a mutant. Other folders have `tests/<folder>` and the laws.
 */
const TESTS: { readonly [path: string]: readonly string[] } = {
  "src/stores/decide": ["tests/stores", "tests/testing/contract", "tests/thread"],
  "src/projection/window": [
    "tests/projection/ceilings.test.ts",
    "tests/projection/clearing.test.ts",
    "tests/projection/golden.test.ts",
    "tests/projection/turns-and-heads.test.ts",
    "tests/laws/engine-equals-oracle.test.ts",
    "tests/laws/incremental-equals-scratch.test.ts",
    "tests/projection",
  ],
  "src/agent/react": [
    "tests/agent",
    "tests/laws/agent-on-a-tail.test.ts",
    "tests/laws/agent-restores.test.ts",
    "tests/runtime/server/long-summaries.test.ts",
    "tests/runtime/server/recovery.test.ts",
    "tests/runtime/server/settings.test.ts",
    "tests/runtime/server/summaries.test.ts",
    "tests/runtime/session/commit-before-act.test.ts",
  ],
  "src/runtime/live": [
    "tests/runtime/live",
    "tests/runtime/session",
    "tests/runtime/server",
    "tests/runtime/host",
    "tests/runtime/standalone",
  ],
  "src/checkpoint": ["tests/checkpoint"],
  "src/studio/http/guard.ts": ["tests/studio/access.test.ts", "tests/studio/guard.test.ts"],
  "src/studio/http": ["tests/studio"],
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seed: { type: "string", default: "1" }, count: { type: "string", default: String(MUTANTS) } },
});
if (positionals.length === 0) {
  console.error("Usage: npm run mutate -- <folder or file>... [--seed <n>|HEAD] [--count <n>]");
  process.exit(1);
}

process.chdir(root);
setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
const files = positionals.flatMap((path) => (statSync(path).isFile() ? [path] : globSync(`${path}/**/*.ts`).sort()));
/** Read once: a long run reports on the files it began with. */
const sources = new Map(files.map((path) => [path, readFileSync(path, "utf8")]));
const all = await mutantsOf(files);
const seed = values.seed === "HEAD" ? seedOfCommit() : Number(values.seed);
const sample = sampleOf(all, Number(values.count), seed);
process.env["HEDDLE_MUTATE_TESTS"] = testsOf(files).join(",");
process.env["HEDDLE_SEED"] ??= "1";

const results = await new Stryker({
  mutate: sample.map(rangeOf),
  testRunner: "vitest",
  plugins: ["@stryker-mutator/vitest-runner"],
  vitest: { configFile: "scripts/mutate.vitest.config.ts", related: false },
  coverageAnalysis: "perTest",
  concurrency: 1,
  reporters: ["progress-append-only"],
  ignorePatterns: ["/dist", "/bench", "/.git"],
  timeoutMS: 10_000,
  timeoutFactor: 2,
  dryRunTimeoutMinutes: 30,
  tempDirName: ".stryker-tmp",
  tsconfigFile: "none", // Stryker would rewrite it with the API that TypeScript 7 lacks
  disableTypeChecks: false, // a line of `@ts-nocheck` in every file fails the tests that read sources
  allowEmpty: true,
}).runMutationTest();
rmSync("reports", { recursive: true, force: true });

let [killed, equivalent, alive] = [0, 0, 0];
for (const { fileName, location, mutatorName, replacement, status } of results) {
  const path = fileName.slice(fileName.indexOf("src/"));
  const { line, from } = codeAt(path, location, 1);
  if (status === "CompileError" || !isCounted(mutatorName, from)) continue;
  if (status !== "Survived" && status !== "NoCoverage") {
    if (status === "RuntimeError") console.log(`Ended the process: ${path}:${location.start.line} ${replacement}`);
    if (status === "Timeout") console.log(`Timed out: ${path}:${location.start.line} ${replacement}`); // on a busy machine look at it
    killed++;
    continue;
  }
  const why = EQUIVALENT_MUTANTS.find(
    (each) => each.path === path && each.line === line && each.from === from && each.to === replacement,
  )?.why;
  if (why === undefined) alive++;
  else equivalent++;
  const { start } = location;
  console.log(`${why === undefined ? status : "Equivalent"} ${path}:${start.line}:${start.column} ${mutatorName}`);
  console.log(`  in: ${line}\n  - ${from}\n  + ${replacement}${why === undefined ? "" : `\n  ${why}`}`);
}
const rate = ((100 * killed) / (killed + alive)).toFixed(1);
console.log(
  `${positionals.join(" ")} (seed ${seed}): ${killed} of ${killed + alive} mutants killed, ${rate} %. ` +
    `${equivalent} equivalent mutants are not counted (${all.length} mutants in all).`,
);

/** The first 32 bits of the hash. */
function seedOfCommit(): number {
  return Number.parseInt(execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf8" }).slice(0, 8), 16);
}

/** The code at a location, and its first line. `origin` is the number of the first line and column: 0 or 1. */
function codeAt(path: string, { start, end }: Mutant["location"], origin: 0 | 1): { line: string; from: string } {
  const lines = (sources.get(path) ?? "").split("\n").slice(start.line - origin, end.line + 1 - origin);
  const line = lines[0]?.trim() ?? "";
  lines.push((lines.pop() ?? "").slice(0, end.column - origin));
  return { line, from: lines.join("\n").slice(start.column - origin) };
}

/** Every mutant that Stryker makes of the files. */
async function mutantsOf(paths: readonly string[]): Promise<readonly Mutant[]> {
  const silent = () => undefined;
  const isEnabled = () => false;
  const logger = {
    isTraceEnabled: isEnabled,
    isDebugEnabled: isEnabled,
    isInfoEnabled: isEnabled,
    isWarnEnabled: isEnabled,
    isErrorEnabled: isEnabled,
    isFatalEnabled: isEnabled,
    trace: silent,
    debug: silent,
    info: silent,
    warn: silent,
    error: silent,
    fatal: silent,
  };
  const contents = paths.map((name) => ({ name, mutate: true, content: sources.get(name) ?? "" }));
  const options = { ignorers: [], excludedMutations: [], plugins: null };
  const { mutants } = await new Instrumenter(logger).instrument(contents, options);
  return (mutants as readonly Mutant[]).filter(({ fileName, location, mutatorName }) =>
    isCounted(mutatorName, codeAt(fileName, location, 0).from),
  );
}

/** Mutants of messages are not counted. A text with a space in it is a message, not a name or a code. */
function isCounted(mutatorName: string, from: string): boolean {
  if (UNREACHABLE.test(from)) return false;
  return mutatorName !== "StringLiteral" || !from.includes(" ");
}

/** A random sample. Stryker takes ranges, so a mutant comes with those inside of it: one that has too many is left out. */
function sampleOf(mutants: readonly Mutant[], count: number, seed: number): readonly Mutant[] {
  const taken = new Set<Mutant>();
  const ranges: Mutant[] = [];
  for (const mutant of shuffled(mutants, seed)) {
    const inside = mutants.filter((other) => !taken.has(other) && isInside(other, mutant));
    if (inside.length === 0 || inside.length > 4 || taken.size + inside.length > count) continue;
    for (const each of inside) taken.add(each);
    ranges.push(mutant);
  }
  return ranges;
}

function isInside(inner: Mutant, outer: Mutant): boolean {
  const isBefore = (a: Place, b: Place) => a.line < b.line || (a.line === b.line && a.column <= b.column);
  const [a, b] = [inner.location, outer.location];
  return inner.fileName === outer.fileName && isBefore(b.start, a.start) && isBefore(a.end, b.end);
}

function shuffled<Item>(items: readonly Item[], seed: number): readonly Item[] {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0; // mulberry32
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return items
    .map((item) => ({ item, place: next() }))
    .sort((a, b) => a.place - b.place)
    .map(({ item }) => item);
}

function rangeOf({ fileName, location: { start, end } }: Mutant): string {
  return `${fileName}:${start.line + 1}:${start.column}-${end.line + 1}:${end.column}`;
}

function testsOf(paths: readonly string[]): readonly string[] {
  const known = paths.map((path) => Object.keys(TESTS).find((key) => path === key || path.startsWith(`${key}/`)));
  if (known.every((key) => key !== undefined)) return [...new Set(known.flatMap((key) => TESTS[key] ?? []))];
  return ["tests/laws", ...new Set(paths.map((path) => path.split("/").slice(0, 2).join("/").replace("src", "tests")))];
}
