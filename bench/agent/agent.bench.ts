// The cost of an agent around a model that answers at once: `npm run bench -- agent`, or with --help.
import { Budgets } from "../support/budgets.ts";
import { describeMachine } from "../support/machine.ts";
import { type Options, readOptions } from "../support/options.ts";
import { Report } from "../support/report.ts";
import { Scratch } from "../support/scratch.ts";
import { afterKill } from "./after-kill.ts";
import type { Measurement } from "./bench.ts";
import { branches } from "./branches.ts";
import { calls } from "./calls.ts";
import { growingText, growingTool } from "./growing.ts";
import { HELP } from "./help.ts";
import { idle } from "./idle.ts";
import { listeners } from "./listeners.ts";
import { live } from "./live.ts";
import { longTurns } from "./long-turns.ts";
import { manyText, manyTool } from "./many.ts";
import { oneText, oneTool } from "./one.ts";
import { FULL, QUICK } from "./sizes.ts";

const measurements: Readonly<Record<string, Measurement>> = {
  "one-text": oneText,
  "one-tool": oneTool,
  "growing-text": growingText,
  "growing-tool": growingTool,
  "many-text": manyText,
  "many-tool": manyTool,
  idle,
  live,
  "after-kill": afterKill,
  branches,
  calls,
  listeners,
  "long-turns": longTurns,
  // Its packages are loaded for it alone: with them, a UI listener takes half as long again.
  "chat-turn": async (bench) => (await import("./chat-turn.ts")).chatTurn(bench),
};

const options = readOptions(process.argv.slice(2), HELP);
if (options === undefined) process.exitCode = 2;
else if (options.help) console.log(HELP);
else await run(options);

async function run({ quick, only, peers, dir, json, check }: Options): Promise<void> {
  const started = performance.now();
  const scratch = new Scratch(dir);
  const title = `heddle, agents${quick ? ", quick: the numbers mean little" : ""}`;
  const report = new Report(await describeMachine(scratch.path), { title, json, check });
  const bench = { sizes: quick ? QUICK : FULL, scratch, budgets: new Budgets("agent"), peers };
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
