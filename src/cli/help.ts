import type { Command } from "./command.ts";
import { COMMANDS } from "./commands.ts";
import { COMMON, type Options } from "./options.ts";
import { table, wrapped } from "./text.ts";

const WIDTH = 110;

export function helpOf(command: Command): string {
  const { name, summary, args, options, examples, notes = [] } = command;
  const own = Object.keys(options).length > 0 ? `\nOptions\n${optionLines(options)}\n` : "";
  return [
    `${summary}\n\nUsage: heddle ${[name, args, "[options]"].filter(Boolean).join(" ")}\n`,
    ...(notes.length > 0 ? [`\n${notes.join("\n")}\n`] : []),
    own,
    `\nFor every command\n${optionLines(COMMON)}\n`,
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

function optionLines(options: Options): string {
  const rows = Object.entries(options).map(([name, { short, value, help }]) => {
    const flags = `${short === undefined ? "    " : `-${short}, `}--${name}${value === undefined ? "" : ` <${value}>`}`;
    return [`  ${flags}`, help] as const;
  });
  const indent = Math.max(...rows.map(([flags]) => flags.length)) + 2;
  return rows
    .map(([flags, help]) => flags.padEnd(indent) + wrapped(help, WIDTH - indent).join(`\n${" ".repeat(indent)}`))
    .join("\n");
}
