import { readFileSync, writeSync } from "node:fs";
import type { ProjectionInput } from "../../../src/projection/input/input.ts";
import { project } from "../../../src/projection/projector.ts";
import { Thread } from "../../../src/thread/thread.ts";
import { outcome } from "./outcome.ts";

// Projects the inputs of a file, one a line, in a process that has seen nothing before.

for (const line of readFileSync(process.argv[2] ?? "", "utf8").split("\n")) {
  const { thread, ...rest } = JSON.parse(line) as ProjectionInput;
  const given = outcome(() => project({ ...rest, thread: Thread.fromJSON(thread) }).messages);
  writeSync(1, `${JSON.stringify(given)}\n`);
}
