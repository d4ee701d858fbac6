import { execFileSync } from "node:child_process";
import { appendFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { OpenConnection } from "heddle/sqlite";
import { onTestFinished } from "vitest";
import { findSqlite } from "../../../src/stores/sqlite/connection.ts";
import { tempFolder } from "../../support/temp-folder.ts";

const SIZE = 4 * 1024 * 1024;
const BALLAST = 1024 * 1024;

/** A disk that is soon full, and gets a little free space back when told. */
export interface SmallDisk {
  readonly kind: string;
  readonly path: string;
  readonly connect: OpenConnection;
  giveSpace(): void;
}

/** A real filesystem of its own where mounting is allowed, so that the log and the shared memory meet their end too. */
export function smallDisk(): SmallDisk {
  const disk = mountedDisk();
  if (disk === undefined) return limitedDatabase();
  const { folder, giveSpace } = disk;
  return { kind: "a filesystem of 4 MB", path: join(folder, "threads.db"), connect: findSqlite(), giveSpace };
}

export interface MountedDisk {
  readonly folder: string;
  /** Takes what space there is, except so many bytes. */
  fill(exceptBytes?: number): void;
  giveSpace(): void;
}

/** Undefined where mounting is not allowed. */
export function mountedDisk(): MountedDisk | undefined {
  const folder = tempFolder();
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${SIZE}`, "tmpfs", folder], { stdio: "ignore" });
  } catch {
    return undefined;
  }
  onTestFinished(() => void execFileSync("umount", ["--lazy", folder]));
  const ballast = join(folder, "ballast");
  writeFileSync(ballast, new Uint8Array(BALLAST));
  return { folder, fill: (exceptBytes = 0) => fill(ballast, exceptBytes), giveSpace: () => rmSync(ballast) };
}

function fill(file: string, exceptBytes: number): void {
  try {
    for (;;) appendFileSync(file, new Uint8Array(4096));
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOSPC")) throw error;
  }
  truncateSync(file, statSync(file).size - exceptBytes);
}

/** Second best: SQLite itself refuses to let the database grow. */
function limitedDatabase(): SmallDisk {
  const open = findSqlite();
  let limit = () => {};
  let pages = (SIZE - BALLAST) / 4096;
  return {
    kind: "PRAGMA max_page_count, because mounting is not allowed here",
    path: join(tempFolder(), "threads.db"),
    connect(path) {
      const connection = open(path);
      limit = () => connection.exec(`PRAGMA max_page_count = ${pages}`);
      limit();
      return connection;
    },
    giveSpace() {
      pages = SIZE / 4096;
      limit();
    },
  };
}
