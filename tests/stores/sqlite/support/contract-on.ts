import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ContractCase, storeContract } from "heddle/testing";
import { afterAll } from "vitest";
import { openAt, openDatabaseAt } from "../../../support/open-at.ts";
import { spawnWorker } from "../../../support/spawn-worker.ts";

/** The contract's cases on one file, with a library named as `openAt` names it, and with real processes. */
export function contractOn(library: string): readonly ContractCase[] {
  const folder = mkdtempSync(join(tmpdir(), "heddle-contract-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  const url = `${library}:${join(folder, "threads.db")}`;
  return storeContract({
    open: (options) => openAt(url, options),
    openDatabase: (options) => openDatabaseAt(url, options),
    spawn: spawnWorker(url),
    timeoutMs: 300_000,
  });
}
