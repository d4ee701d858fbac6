import { parseArgs } from "node:util";
import type { Command } from "./command.ts";
import { badUsage } from "./exit.ts";
import { nearest } from "./nearest.ts";
import { COMMON, type Options } from "./options.ts";

export interface Parsed {
  readonly args: readonly string[];
  readonly options: { readonly [name: string]: string | boolean | readonly (string | boolean)[] | undefined };
}

/** Parses the arguments of a command and checks them against its definition. */
export function parsed(command: Command, given: readonly string[]): Parsed {
  const options: Options = { ...command.options, ...COMMON };
  const { values, positionals } = attempt(command, options, given);
  if (values["help"] !== true) checkCount(command, positionals);
  return { args: positionals, options: values };
}

function attempt(command: Command, options: Options, given: readonly string[]) {
  try {
    return parseArgs({ args: [...given], options: plain(options), allowPositionals: true, strict: true });
  } catch (error) {
    const { code, message } = error as { readonly code?: string; readonly message: string }; // parseArgs throws errors
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

function plain(options: Options) {
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

/** Checks an option that is a date or milliseconds since 1970. The API takes both as text. */
export function timeGiven(text: string | undefined, option: string): string | undefined {
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
