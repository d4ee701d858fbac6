import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { quietly, report } from "./command.ts";
import { root } from "./root.ts";

/** `check:runtimes` installs many runtimes, so CI runs it alone. `check:counts` finds and prints what `check:words` finds. */
const LEFT_OUT = ["check:runtimes", "check:words"];

/** These read dist, so they wait for the build. */
const NEED_BUILD = ["check:package", "check:portable", "check:size", "check:counts"];

export interface CheckResult {
  readonly isBuilt: boolean;
  /** The number of checks that failed; a failed build counts as one. */
  readonly failed: number;
}

/**
 * Builds and runs the `check:*` scripts of package.json without `except`, as many at once as there are cores. Prints a
 * line for each.
 */
export async function buildAndCheck(except: readonly string[] = []): Promise<CheckResult> {
  const { scripts } = JSON.parse(readFileSync(`${root}package.json`, "utf8")) as { scripts: Record<string, string> };
  const leftOut = [...LEFT_OUT, ...except];
  const checks = Object.keys(scripts).filter((name) => name.startsWith("check:") && !leftOut.includes(name));
  const independent = checks.filter((name) => !NEED_BUILD.includes(name));
  const waiting = [...independent, ...checks.filter((name) => NEED_BUILD.includes(name))];
  let failed = 0;

  async function run(name: string, line: string): Promise<boolean> {
    const finished = await quietly(line);
    if (!finished.ok) failed += 1;
    report(name, finished);
    return finished.ok;
  }

  const built = run("build", "node scripts/build.ts");
  async function worker(): Promise<void> {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      if (NEED_BUILD.includes(name) && !(await built)) continue;
      await run(name.slice("check:".length), scripts[name] ?? "");
    }
  }

  // The build takes the place of one worker until it ends.
  const workers = Array.from({ length: Math.max(1, availableParallelism() - 1) }, worker);
  await Promise.all([...workers, built.then(worker)]);
  return { isBuilt: await built, failed };
}
