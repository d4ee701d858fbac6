import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A folder for the files of one run, removed with everything in it when the process ends, also by Ctrl-C. */
export class Scratch {
  readonly path: string;

  constructor(parent = tmpdir()) {
    mkdirSync(parent, { recursive: true });
    this.path = mkdtempSync(join(parent, "heddle-bench-"));
    process.once("exit", () => rmSync(this.path, { recursive: true, force: true }));
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));
  }

  file(name: string): string {
    return join(this.path, name);
  }

  folder(name: string): string {
    mkdirSync(this.file(name), { recursive: true });
    return this.file(name);
  }
}
