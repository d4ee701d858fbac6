// The cost of a context, beside other projects: `npm run bench -- projection`, or with --help.
import { Budgets } from "../support/budgets.ts";
import { describeMachine } from "../support/machine.ts";
import { type Options, readOptions } from "../support/options.ts";
import { Report } from "../support/report.ts";
import { Scratch } from "../support/scratch.ts";
import type { Measurement } from "./bench.ts";
import { build } from "./build.ts";
import { cache } from "./cache.ts";
import { HELP } from "./help.ts";
import { illegal } from "./illegal.ts";
import { FULL, QUICK } from "./sizes.ts";
import { store } from "./store.ts";

const measurements: Readonly<Record<string, Measurement>> = { build, store, cache, illegal };

const options = readOptions(process.argv.slice(2), HELP);
if (options === undefined) process.exitCode = 2;
else if (options.help) console.log(HELP);
else await run(options);

async function run({ quick, only, peers, dir, json, check }: Options): Promise<void> {
  const started = performance.now();
  const scratch = new Scratch(dir);
  const title = `heddle, the projection${quick ? ", quick: the numbers mean little" : ""}`;
  const report = new Report(await describeMachine(scratch.path), { title, json, check });
  const bench = { sizes: quick ? QUICK : FULL, scratch, budgets: new Budgets("projection"), peers };
  for (const [id, measure] of Object.entries(measurements)) {
    if (only.length > 0 && !only.some((word) => id.startsWith(word))) continue;
    try {
      for (const table of await measure(bench)) report.add(table);
    } catch (error) {
      report.fail(id, error);
    }
  }
  report.finish((performance.now() - started) / 1000);
}
