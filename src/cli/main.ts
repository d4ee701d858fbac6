import { VERSION } from "../studio/version.ts";
import { HeddleError } from "../thread/errors.ts";
import { nearest } from "../thread/options.ts";
import { COMMON_OPTIONS, type Command, type CommandOptions, parseArguments } from "./command.ts";
import { COMMANDS, type CommandEntry } from "./commands.ts";
import { adviceOf, BrokenPipe, badUsage, EXIT, exitOf, type Io } from "./io.ts";
import { Output, table, wrapped } from "./output.ts";
import { systemIo } from "./system-io.ts";

/** Runs the command in the arguments of this process. */
export async function start(): Promise<void> {
  process.exitCode = await main(process.argv.slice(2), systemIo());
}

/** Runs one command and returns the exit code of the process. */
export async function main(given: readonly string[], io: Io): Promise<number> {
  const early = new Output(io, { json: hasFlag(given, "--json"), "no-color": hasFlag(given, "--no-color") });
  try {
    return (await run(given, io)) ?? EXIT.ok;
  } catch (error) {
    if (error instanceof BrokenPipe) return EXIT.ok;
    await report(error, early, io);
    return exitOf(error);
  }
}

async function run(given: readonly string[], io: Io): Promise<number | undefined> {
  const [name, ...rest] = given;
  const out = new Output(io, {});
  if (name === undefined || name === "--help" || name === "-h" || (name === "help" && rest.length === 0)) {
    await out.raw(helpOfAll());
    return undefined;
  }
  if (name === "--version" || name === "-v") {
    await out.data(VERSION);
    return undefined;
  }
  const isHelp = name === "help";
  const listed = commandNamed(isHelp ? (rest[0] ?? "") : name);
  const { name: called, summary } = listed;
  const command = { ...(await listed.load()), name: called, summary };
  const { args, options } = parseArguments(command, isHelp ? ["--help"] : rest);
  if (options["help"] === true) {
    await out.raw(helpOf(command));
    return undefined;
  }
  return command.run({
    io,
    out: new Output(io, options as ConstructorParameters<typeof Output>[1]),
    args,
    options: options as never,
  }); // parsed with the options of this command
}

function commandNamed(name: string): CommandEntry {
  const listed = COMMANDS.find((one) => one.name === name);
  if (listed !== undefined) return listed;
  const meant = nearest(
    name,
    COMMANDS.map((one) => one.name),
  );
  const hint = meant === undefined ? "" : ` Did you mean heddle ${meant}?`;
  const what = name.startsWith("-") ? "option" : "command";
  throw badUsage(`There is no ${what} ${JSON.stringify(name)}.${hint} See heddle --help for the commands.`);
}

async function report(error: unknown, out: Output, io: Io): Promise<void> {
  const isOurs = HeddleError.isInstance(error);
  const message = isOurs ? adviceOf(error) : `Unexpected error: ${shortOf(error)}`;
  const code = isOurs ? error.code : "internal";
  await out.error(
    out.isJson
      ? JSON.stringify({ error: { code, message, retryable: isOurs && error.retryable } })
      : `${out.paintError("red", "error:")} ${message}`,
  );
  if (io.env["HEDDLE_DEBUG"] && error instanceof Error) await out.error(error.stack ?? "");
}

/** Returns the first line of an error that is not from Heddle. HEDDLE_DEBUG shows all of it. */
function shortOf(error: unknown): string {
  const [first = ""] = (error instanceof Error ? error.message : String(error)).split("\n");
  return `${first} (HEDDLE_DEBUG=1 shows where)`;
}

function hasFlag(given: readonly string[], flag: string): boolean {
  const end = given.indexOf("--");
  return (end < 0 ? given : given.slice(0, end)).includes(flag);
}

const WIDTH = 110;

export function helpOf(command: Command): string {
  const { name, summary, args, options, examples, notes = [] } = command;
  const own = Object.keys(options).length > 0 ? `\nOptions\n${optionLines(options)}\n` : "";
  return [
    `${summary}\n\nUsage: heddle ${[name, args, "[options]"].filter(Boolean).join(" ")}\n`,
    ...(notes.length > 0 ? [`\n${notes.join("\n")}\n`] : []),
    own,
    `\nFor every command\n${optionLines(COMMON_OPTIONS)}\n`,
    `\nExamples\n${examples.map(({ run, does }) => `  ${run}\n      ${does}`).join("\n")}\n`,
  ].join("");
}

export function helpOfAll(): string {
  const groups = [...new Set(COMMANDS.map(({ group }) => group))].map((group) => {
    const rows = COMMANDS.filter((one) => one.group === group).map(({ name, summary }) => [`  ${name}`, summary]);
    return `${group}\n${table(rows, WIDTH).join("\n")}`;
  });
  return [
    "heddle: run agents, and see what happened and what the model got.\n\nUsage: heddle <command> [options]\n\n",
    `${groups.join("\n\n")}\n\n`,
    "heddle <command> --help shows options and examples; --version shows the version.\n",
    "The store is sqlite:./heddle.db unless --store or HEDDLE_STORE names another. A <thread> is an id or `last`.\n",
    "Exit codes: 0 ok, 1 failed, 2 usage, 3 not found, 4 refused, held or waiting, 5 suspended, 130 interrupted.\n",
  ].join("");
}

function optionLines(options: CommandOptions): string {
  const rows = Object.entries(options).map(([name, { short, value, help }]) => {
    const flags = `${short === undefined ? "    " : `-${short}, `}--${name}${value === undefined ? "" : ` <${value}>`}`;
    return [`  ${flags}`, help] as const;
  });
  const indent = Math.max(...rows.map(([flags]) => flags.length)) + 2;
  return rows
    .map(([flags, help]) => flags.padEnd(indent) + wrapped(help, WIDTH - indent).join(`\n${" ".repeat(indent)}`))
    .join("\n");
}
