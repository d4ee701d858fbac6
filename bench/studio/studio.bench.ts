// How long the page and the HTTP API take where there is much to show: `npm run bench -- studio`, or with --help.
import { Budgets } from "../support/budgets.ts";
import { describeMachine } from "../support/machine.ts";
import { type Options, readOptions } from "../support/options.ts";
import { Report } from "../support/report.ts";
import { Scratch } from "../support/scratch.ts";
import { api } from "./api.ts";
import type { Measurement } from "./bench.ts";
import { HELP } from "./help.ts";
import { page } from "./page.ts";
import { FULL, QUICK } from "./sizes.ts";
import { longStore, manyStore } from "./stores.ts";

const measurements: Readonly<Record<string, Measurement>> = { page, api };

const options = readOptions(process.argv.slice(2), HELP);
if (options === undefined) process.exitCode = 2;
else if (options.help) console.log(HELP);
else await run(options);

async function run({ quick, only, dir, json, check }: Options): Promise<void> {
  const started = performance.now();
  const scratch = new Scratch(dir);
  const title = `heddle, Studio${quick ? ", quick: the numbers mean little" : ""}`;
  const report = new Report(await describeMachine(scratch.path), { title, json, check });
  const sizes = quick ? QUICK : FULL;
  const long = await longStore(scratch, sizes);
  const many = await manyStore(scratch, sizes);
  const bench = { sizes, budgets: new Budgets("studio"), long, many };
  for (const [id, measure] of Object.entries(measurements)) {
    if (only.length > 0 && !only.some((word) => id.startsWith(word))) continue;
    try {
      report.add(await measure(bench));
    } catch (error) {
      report.fail(id, error);
    }
  }
  report.finish((performance.now() - started) / 1000);
  await Promise.all([long.close(), many.close()]);
}
