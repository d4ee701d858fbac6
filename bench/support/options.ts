import { parseArgs } from "node:util";

/** The options of every bench. */
export interface Options {
  readonly quick: boolean;
  readonly only: readonly string[];
  readonly peers: boolean;
  readonly dir: string | undefined;
  readonly json: boolean;
  readonly check: boolean;
  readonly help: boolean;
}

/** Undefined, after a line and the bench's help on stderr, when an option is unknown. */
export function readOptions(args: readonly string[], help: string): Options | undefined {
  try {
    return parse(args);
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${help}`);
    return undefined;
  }
}

function parse(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    allowNegative: true,
    options: {
      quick: { type: "boolean", default: false },
      only: { type: "string", default: "" },
      peers: { type: "boolean" },
      dir: { type: "string" },
      json: { type: "boolean", default: false },
      check: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  const { quick, only, peers = !quick, dir, json, check, help } = values;
  return { quick, only: only.split(",").filter((word) => word !== ""), peers, dir, json, check, help };
}
