import type { Io } from "./io.ts";
import type { COMMON, Options, Values } from "./options.ts";
import type { Output } from "./output.ts";

/** A command as it was called. */
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
  /** Its arguments: `<needed> [optional] [many...]`. */
  readonly args: string;
  readonly options: Given;
  readonly examples: readonly Example[];
  /** What it has to say beside the summary. */
  readonly notes?: readonly string[];
  /** Answers the exit code; nothing is 0. */
  readonly run: (call: Call<Given>) => Promise<number | undefined>;
}

/** What the file of a command holds; its name and summary stand in the list, so that the list needs no file. */
export type LoadedCommand = Definition<Options>;

export interface Command extends LoadedCommand {
  readonly name: string;
  readonly summary: string;
}

/** A command whose `run` knows the types of its options. */
export function defineCommand<const Given extends Options>(definition: Definition<Given>): LoadedCommand {
  return definition as unknown as LoadedCommand; // main parses by these very options
}
