// The cost of starting a program: `npm run bench -- start`, or with --help. Needs the built package.
import { fileURLToPath } from "node:url";
import { postgresDatabase } from "../log/postgres-database.ts";
import { Budgets } from "../support/budgets.ts";
import { runScript } from "../support/child.ts";
import type { Lap, Result } from "../support/lap.ts";
import { describeMachine } from "../support/machine.ts";
import { type Options, readOptions } from "../support/options.ts";
import { version } from "../support/packages.ts";
import { race } from "../support/race.ts";
import { Report } from "../support/report.ts";
import { Scratch } from "../support/scratch.ts";
import { median } from "../support/statistics.ts";
import type { Table } from "../support/table.ts";

const HELP = `The start bench: the import of heddle and its first answer, beside the AI SDK, each in a fresh process.
Also a messenger bot that lives for one update, beside the same bot on plain tables.

  npm run bench -- start [options]
  node bench/start/start.bench.ts [options]      after npm run build

  --quick          3 rounds instead of 21
  --json           one JSON object instead of text
  --check          exit code 1 when a budget is missed
  --help           this text`;

const BOT = fileURLToPath(new URL("bot-child.ts", import.meta.url));
const CHILD = fileURLToPath(new URL("start-child.ts", import.meta.url));

const options = readOptions(process.argv.slice(2), HELP);
if (options === undefined) process.exitCode = 2;
else if (options.help) console.log(HELP);
else await run(options);

async function run({ quick, dir, json, check }: Options): Promise<void> {
  const started = performance.now();
  const scratch = new Scratch(dir);
  const title = `heddle, the start${quick ? ", quick: the numbers mean little" : ""}`;
  const report = new Report(await describeMachine(scratch.path), { title, json, check });
  try {
    report.add(await start(quick ? 3 : 21, new Budgets("start")));
  } catch (error) {
    report.fail("start", error);
  }
  const rounds = quick ? 3 : 21;
  const files = { heddle: scratch.file("heddle.db"), plain: scratch.file("plain.db") };
  try {
    report.add(await bot("sqlite", "SQLite", rounds, files));
    const database = await postgresDatabase();
    try {
      const { url } = database;
      report.add(await bot("postgres", `Postgres ${database.version}`, rounds, { heddle: url, plain: url }));
    } finally {
      await database.drop();
    }
  } catch (error) {
    report.fail("bot", error);
  }
  report.finish((performance.now() - started) / 1000);
}

/** A bot that lives for one update, with a chat of ten turns, beside the same bot on plain tables. */
async function bot(
  id: string,
  title: string,
  rounds: number,
  urls: { readonly heddle: string; readonly plain: string },
) {
  for (const name of ["heddle", "plain"] as const) await runScript(BOT, [name, urls[name], "--history"]);
  const update = (name: "heddle" | "plain") => async (): Promise<Lap> => {
    const { ms } = await runScript<{ ms: number }>(BOT, [name, urls[name], crypto.randomUUID()]);
    return { operations: 1, ms, each: [ms] };
  };
  const { heddle, plain } = await race({ heddle: update("heddle"), plain: update("plain") }, { rounds });
  const ratio = heddle.over(plain);
  const table: Table = {
    id: `bot-${id}`,
    title: `${title}: a bot that lives for one update, to the first text, the medians of ${rounds} rounds`,
    columns: [
      { key: "p50", label: "clock", unit: "ms" },
      { key: "ratio", label: "ours to it", unit: "times" },
    ],
    rows: [
      { name: "heddle: host.ask", values: { p50: heddle.p50 } },
      { name: "ai: streamText and plain tables", values: { p50: plain.p50, ratio } },
    ],
    checks: [
      new Budgets("start").atMost("botToPlainTables", ratio, {
        what: `bot to the first text, ${id}, to plain tables`,
        unit: "times",
      }),
    ],
    notes: [
      "A chat of ten turns. Both store the message durably before they call the model. Without the start of Node.",
    ],
  };
  return table;
}

async function start(rounds: number, budgets: Budgets): Promise<Table> {
  const cpu: Record<string, number[]> = {};
  const fresh =
    (name: string, does: string) =>
    async (round: number): Promise<Lap> => {
      const { ms, cpuMs } = await runScript<{ ms: number; cpuMs: number }>(CHILD, [name, does]);
      const key = `${name} ${does}`;
      if (round >= 0) cpu[key] = [...(cpu[key] ?? []), cpuMs];
      return { operations: 1, ms, each: [ms] };
    };
  const { heddleImport, aiImport, heddleAnswer, aiAnswer } = await race(
    {
      heddleImport: fresh("heddle", "import"),
      aiImport: fresh("ai", "import"),
      heddleAnswer: fresh("heddle", "answer"),
      aiAnswer: fresh("ai", "answer"),
    },
    { rounds },
  );
  const row = (name: string, key: string, result: Result, ratio?: number) => ({
    name,
    values: { p50: result.p50, cpu: median(cpu[key] ?? []), ratio },
  });
  return {
    id: "start",
    title: `Start: in a fresh process, the medians of ${rounds} rounds`,
    columns: [
      { key: "p50", label: "clock", unit: "ms" },
      { key: "cpu", label: "CPU", unit: "ms" },
      { key: "ratio", label: "ours to it", unit: "times" },
    ],
    rows: [
      row('import("heddle")', "heddle import", heddleImport),
      row('import("ai")', "ai import", aiImport, heddleImport.over(aiImport)),
      row("heddle: import and first answer", "heddle answer", heddleAnswer),
      row("ai: import and first answer", "ai answer", aiAnswer, heddleAnswer.over(aiAnswer)),
    ],
    checks: [
      budgets.atMost("importToAiSdk", heddleImport.over(aiImport), {
        what: "cold import, to the AI SDK's",
        unit: "times",
      }),
      budgets.atMost("firstAnswerToAiSdk", heddleAnswer.over(aiAnswer), {
        what: "import and first answer, to the AI SDK's",
        unit: "times",
      }),
    ],
    notes: [
      `heddle ${version("../../package.json")}, ai ${version("../../node_modules/ai/package.json")}. The same scripted model answers at once; both stream.`,
      "heddle asks an AgentServer on a memory store; the AI SDK's streamText keeps nothing. Without the start of Node.",
    ],
  };
}
