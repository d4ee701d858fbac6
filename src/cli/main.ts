import { VERSION } from "../studio/version.ts";
import { HeddleError } from "../thread/errors.ts";
import { adviceOf } from "./advice.ts";
import { COMMANDS, type Listed } from "./commands.ts";
import { BrokenPipe, badUsage, EXIT, exitOf } from "./exit.ts";
import { helpOf, helpOfAll } from "./help.ts";
import type { Io } from "./io.ts";
import { nearest } from "./nearest.ts";
import { Output } from "./output.ts";
import { parsed } from "./parse.ts";

/** Runs one command and returns the exit code of the process. */
export async function main(given: readonly string[], io: Io): Promise<number> {
  const early = new Output(io, { json: isAsked(given, "--json"), "no-color": isAsked(given, "--no-color") });
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
  const listed = found(isHelp ? (rest[0] ?? "") : name);
  const { name: called, summary } = listed;
  const command = { ...(await listed.load()), name: called, summary };
  const { args, options } = parsed(command, isHelp ? ["--help"] : rest);
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

function found(name: string): Listed {
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
      : `${out.talk("red", "error:")} ${message}`,
  );
  if (io.env["HEDDLE_DEBUG"] && error instanceof Error) await out.error(error.stack ?? "");
}

/** The first line of an error that is not from Heddle; HEDDLE_DEBUG shows the rest. */
function shortOf(error: unknown): string {
  const [first = ""] = (error instanceof Error ? error.message : String(error)).split("\n");
  return `${first} (HEDDLE_DEBUG=1 shows where)`;
}

function isAsked(given: readonly string[], flag: string): boolean {
  const end = given.indexOf("--");
  return (end < 0 ? given : given.slice(0, end)).includes(flag);
}
