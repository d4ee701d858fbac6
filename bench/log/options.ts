import { parseArgs } from "node:util";

export const HELP = `The log bench: appends, reads and bytes of the stores, each beside a floor measured in the same run.

  npm run bench -- log [options]
  node bench/log/log.bench.ts [options]      after npm run build

  --quick          small sizes, without other projects: shows that everything runs, not how fast it is
  --only=a,b       only the tables whose id begins with one of these words
  --peers          other projects too, although --quick leaves them out
  --no-peers       without other projects
  --dir=<folder>   where the database files go (about 3 GB, removed at the end); default: the system's temporary folder
  --json           one JSON object instead of text
  --check          exit code 1 when a budget is missed
  --help           this text`;

export interface Options {
  readonly quick: boolean;
  readonly only: readonly string[];
  readonly peers: boolean;
  readonly dir: string | undefined;
  readonly json: boolean;
  readonly check: boolean;
  readonly help: boolean;
}

/** Undefined, after a line on stderr, when an option is unknown. */
export function readOptions(args: readonly string[]): Options | undefined {
  try {
    return parse(args);
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${HELP}`);
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
