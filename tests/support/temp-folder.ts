import { chmodSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

const MEMORY = "/dev/shm";

/** A folder that is gone when the test is over. */
export function tempFolder(parent = tmpdir()): string {
  const path = mkdtempSync(join(parent, "heddle-tests-"));
  onTestFinished(() => {
    chmodSync(path, 0o755); // the test may have closed it
    rmSync(path, { recursive: true, force: true });
  });
  return path;
}

/** The path of a file that does not exist yet. */
export function tempFile(name = "threads.db"): string {
  return join(tempFolder(), name);
}

/** In memory where there is such a folder: for tests that open many files and say nothing about disks. */
export function fastFolder(): string {
  return tempFolder(existsSync(MEMORY) ? MEMORY : tmpdir());
}

export function fastFile(name = "threads.db"): string {
  return join(fastFolder(), name);
}
