import type { Io } from "./io.ts";
import type { COMMON, Options, Values } from "./options.ts";
import type { Output } from "./output.ts";

/** One invocation of a command. */
export interface Call<Given extends Options = Options> {
  readonly io: Io;
  readonly out: Output;
  readonly args: readonly string[];
  readonly options: Values<Given & typeof COMMON>;
}

interface Example {
  readonly run: string;
  readonly does: string;
}

interface Definition<Given extends Options> {
  /** The arguments: `<required> [optional] [many...]`. */
  readonly args: string;
  readonly options: Given;
  readonly examples: readonly Example[];
  /** More lines of help, after the summary. Default: none. */
  readonly notes?: readonly string[];
  /** Returns the exit code; undefined means 0. */
  readonly run: (call: Call<Given>) => Promise<number | undefined>;
}

/** A command without name and summary. Those are in the list of commands, so that the list can be shown without loading. */
export type LoadedCommand = Definition<Options>;

export interface Command extends LoadedCommand {
  readonly name: string;
  readonly summary: string;
}

/** A command whose `run` knows the types of its options. */
export function defineCommand<const Given extends Options>(definition: Definition<Given>): LoadedCommand {
  return definition as unknown as LoadedCommand; // main parses with exactly these options
}
