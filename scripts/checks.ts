import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { quietly, report } from "./command.ts";
import { root } from "./root.ts";

/** Installs many runtimes; CI runs it by itself. */
const LEFT_OUT = ["check:runtimes"];

/** Runs the `check:*` scripts of package.json and prints a line for each. Resolves to the number that failed. */
export async function runChecks(): Promise<number> {
  const { scripts } = JSON.parse(readFileSync(`${root}package.json`, "utf8")) as { scripts: Record<string, string> };
  const waiting = Object.entries(scripts).filter(([name]) => name.startsWith("check:") && !LEFT_OUT.includes(name));
  let failed = 0;

  async function worker(): Promise<void> {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [name, line] = next;
      const finished = await quietly(line);
      if (!finished.ok) failed += 1;
      report(name.slice("check:".length), finished);
    }
  }

  await Promise.all(Array.from({ length: availableParallelism() }, worker));
  return failed;
}
