import { main } from "./main.ts";
import { systemIo } from "./system-io.ts";

/** Runs the command in the arguments of this process. */
export async function start(): Promise<void> {
  process.exitCode = await main(process.argv.slice(2), systemIo());
}
