import { parseArgs } from "node:util";
import { nearest } from "../thread/options.ts";
import { badUsage, type Io } from "./io.ts";
import type { Output } from "./output.ts";

/** The input of a command that the user has called. */
export interface CommandCall<Options extends CommandOptions = CommandOptions> {
  readonly io: Io;
  readonly out: Output;
  readonly args: readonly string[];
  readonly options: Values<Options & typeof COMMON_OPTIONS>;
}

interface Example {
  readonly run: string;
  readonly does: string;
}

interface Definition<Options extends CommandOptions> {
  /** The arguments: `<required> [optional] [many...]`. */
  readonly args: string;
  readonly options: Options;
  readonly examples: readonly Example[];
  /** More lines of help, after the summary. Default: none. */
  readonly notes?: readonly string[];
  /** Returns the exit code; undefined means 0. */
  readonly run: (call: CommandCall<Options>) => Promise<number | undefined>;
}

/** A command without name and summary. These are in the list of commands, so that help needs no loading. */
export type LoadedCommand = Definition<CommandOptions>;

export interface Command extends LoadedCommand {
  readonly name: string;
  readonly summary: string;
}

/** Defines a command. `run` gets the types of the command's options. */
export function defineCommand<const Options extends CommandOptions>(definition: Definition<Options>): LoadedCommand {
  return definition as unknown as LoadedCommand; // `main` parses with exactly these options
}

/** One option of a command. */
interface CommandOption {
  readonly type: "string" | "boolean";
  readonly short?: string;
  readonly multiple?: boolean;
  /** The placeholder for the value in the help. */
  readonly value?: string;
  readonly help: string;
}

export type CommandOptions = { readonly [name: string]: CommandOption };

/** The parsed values of options. */
type Values<Options extends CommandOptions> = {
  readonly [Name in keyof Options]: Options[Name] extends { readonly type: "boolean" }
    ? boolean | undefined
    : Options[Name] extends { readonly multiple: true }
      ? readonly string[] | undefined
      : string | undefined;
};

/** The options that every command has. */
export const COMMON_OPTIONS = {
  json: { type: "boolean", help: "print one JSON object on stdout; commands that stream print JSON Lines" },
  quiet: { type: "boolean", short: "q", help: "print only errors on stderr" },
  "no-input": { type: "boolean", help: "never ask a question" },
  "no-color": { type: "boolean", help: "no color; also NO_COLOR" },
  help: { type: "boolean", short: "h", help: "show this help" },
} as const satisfies CommandOptions;

/** Options that name the store. */
export const STORE_OPTIONS = {
  store: {
    type: "string",
    short: "s",
    value: "url",
    help: "sqlite:./heddle.db (default), postgres://…; also HEDDLE_STORE",
  },
  tenant: { type: "string", value: "name", help: "the tenant whose threads are used; also HEDDLE_TENANT" },
} as const satisfies CommandOptions;

/** Options that name a running Studio instead of a store. */
const SERVER_OPTIONS = {
  server: { type: "string", value: "url", help: "a running Studio, http://127.0.0.1:4747; also HEDDLE_SERVER" },
  token: { type: "string", value: "token", help: "access token of that Studio; also HEDDLE_TOKEN" },
} as const satisfies CommandOptions;

export const CLIENT_OPTIONS = { ...STORE_OPTIONS, ...SERVER_OPTIONS } as const satisfies CommandOptions;

/** The option that names the agent. */
export const AGENT_OPTIONS = {
  agent: {
    type: "string",
    value: "file",
    help: "a module that exports agents, and #name for one of them; default: a model whose key is in the environment",
  },
} as const satisfies CommandOptions;

interface ParsedArguments {
  readonly args: readonly string[];
  readonly options: { readonly [name: string]: string | boolean | readonly (string | boolean)[] | undefined };
}

/** Parses the arguments of a command and checks them against its definition. */
export function parseArguments(command: Command, given: readonly string[]): ParsedArguments {
  const options: CommandOptions = { ...command.options, ...COMMON_OPTIONS };
  const { values, positionals } = parseStrictly(command, options, given);
  if (values["help"] !== true) checkCount(command, positionals);
  return { args: positionals, options: values };
}

function parseStrictly(command: Command, options: CommandOptions, given: readonly string[]) {
  try {
    return parseArgs({ args: [...given], options: parserOptions(options), allowPositionals: true, strict: true });
  } catch (error) {
    const { code, message } = error as { readonly code?: string; readonly message: string }; // `parseArgs` throws objects with these fields
    const name = /'(-{1,2}[^'\s=]*)/.exec(message)?.[1] ?? "";
    if (code === "ERR_PARSE_ARGS_UNKNOWN_OPTION") {
      const meant = nearest(name.replace(/^-+/, ""), Object.keys(options));
      const hint = meant === undefined ? "" : ` Did you mean --${meant}?`;
      throw badUsage(`heddle ${command.name} has no option ${name}.${hint} See heddle ${command.name} --help.`);
    }
    if (code !== "ERR_PARSE_ARGS_INVALID_OPTION_VALUE") throw error;
    const long = /(--[a-z-]+)/.exec(message)?.[1] ?? name;
    const needs = options[long.slice(2)]?.type === "string";
    throw badUsage(
      needs
        ? `${long} needs a value. Write a value that begins with a dash as ${long}=value.`
        : `${long} takes no value.`,
    );
  }
}

function parserOptions(options: CommandOptions) {
  const entries = Object.entries(options).map(([name, { type, short, multiple }]) => {
    return [
      name,
      { type, ...(short !== undefined && { short }), ...(multiple !== undefined && { multiple }) },
    ] as const;
  });
  return Object.fromEntries(entries);
}

function checkCount({ name, args }: Command, given: readonly string[]): void {
  const names = args.match(/[<[][^>\]]+[>\]]/g) ?? [];
  const missing = names.filter((one) => one.startsWith("<"))[given.length];
  if (missing !== undefined) throw badUsage(`${missing} is missing. Usage: heddle ${name} ${args}`);
  if (given.length > names.length && !args.includes("...")) {
    throw badUsage(`There is one argument too many. Usage: heddle ${name} ${args}`.trim());
  }
}

/** Parses an option that is a whole number of at least `least` (default 0). */
export function wholeNumber(text: string | undefined, option: string, least = 0): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= least) return value;
  throw badUsage(`${option} must be a whole number from ${least} on.`);
}

/** Checks an option that is a date or milliseconds since 1970. Returns it as text, because the API accepts both. */
export function parseTime(text: string | undefined, option: string): string | undefined {
  if (text === undefined || /^\d+$/.test(text) || (/^\d{4}-\d{2}/.test(text) && !Number.isNaN(Date.parse(text))))
    return text;
  throw badUsage(`${option} must be a date such as 2026-01-31 or 2026-01-31T12:00:00Z, or milliseconds since 1970.`);
}

export function oneOf<Word extends string>(words: readonly Word[], text: string, option: string): Word {
  const found = words.find((word) => word === text);
  if (found !== undefined) return found;
  const meant = nearest(text, words);
  throw badUsage(
    `${option} must be one of ${words.join(", ")}.${meant === undefined ? "" : ` Did you mean ${meant}?`}`,
  );
}
