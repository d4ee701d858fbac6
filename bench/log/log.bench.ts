// The cost of the log, beside a baseline measured in the same run: `npm run bench -- log`, or with --help.
import { Budgets } from "../support/budgets.ts";
import { describeMachine } from "../support/machine.ts";
import { type Options, readOptions } from "../support/options.ts";
import { Report } from "../support/report.ts";
import { Scratch } from "../support/scratch.ts";
import { agents } from "./agents.ts";
import { batch } from "./batch.ts";
import type { Measurement } from "./bench.ts";
import { bytes } from "./bytes.ts";
import { chatBytes } from "./chat-bytes.ts";
import { coldOpen } from "./cold-open.ts";
import { feed } from "./feed.ts";
import { Fixtures } from "./fixtures.ts";
import { forks } from "./forks.ts";
import { HELP } from "./help.ts";
import { images } from "./images.ts";
import { lanes } from "./lanes.ts";
import { last200 } from "./last-200.ts";
import { lists } from "./lists.ts";
import { memory } from "./memory.ts";
import { notifications } from "./notifications.ts";
import { peers } from "./peers.ts";
import { postgresAppends } from "./postgres.ts";
import { processes } from "./processes.ts";
import { requests } from "./requests.ts";
import { singleAppend } from "./single-append.ts";
import { FULL, QUICK } from "./sizes.ts";
import { stalls } from "./stalls.ts";
import { tenants } from "./tenants.ts";
import { verify } from "./verify.ts";
import { postgresWatchers, watchers } from "./watchers.ts";

/** In memory first, before the process has a past. */
const measurements: Readonly<Record<string, Measurement>> = {
  memory,
  "single-append": singleAppend,
  agents,
  batch,
  lanes,
  "last-200": last200,
  "cold-open": coldOpen,
  verify,
  bytes,
  "chat-bytes": chatBytes,
  feed,
  requests,
  lists,
  forks,
  images,
  watchers,
  stalls,
  processes,
  postgres: postgresAppends,
  "postgres-watchers": postgresWatchers,
  notifications,
  tenants,
  peers,
};

const options = readOptions(process.argv.slice(2), HELP);
if (options === undefined) process.exitCode = 2;
else if (options.help) console.log(HELP);
else await run(options);

async function run({ quick, only, peers, dir, json, check }: Options): Promise<void> {
  const started = performance.now();
  const scratch = new Scratch(dir);
  const title = `heddle, the log${quick ? ", quick: the numbers mean little" : ""}`;
  const report = new Report(await describeMachine(scratch.path), { title, json, check });
  const sizes = quick ? QUICK : FULL;
  const bench = { sizes, scratch, fixtures: new Fixtures(scratch), budgets: new Budgets("log"), peers };
  for (const [id, measure] of Object.entries(measurements)) {
    if (only.length > 0 && !only.some((word) => id.startsWith(word))) continue;
    try {
      report.add(await measure(bench));
    } catch (error) {
      report.fail(id, error);
    }
  }
  report.finish((performance.now() - started) / 1000);
}
