import { execFile } from "node:child_process";
import { readFile, statfs } from "node:fs/promises";
import { availableParallelism, cpus, loadavg, release, totalmem, type } from "node:os";
import { promisify } from "node:util";
import { version } from "./packages.ts";

/** The machine of the measurement, which the numbers depend on. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGigabytes: number;
  readonly os: string;
  readonly node: string;
  readonly sqlite: string;
  readonly heddle: string;
  readonly commit: string;
  readonly fileSystem: string;
  /** The load of the last minute before the bench. Above 0, other processes were running. */
  readonly loadBefore: number;
  readonly date: string;
}

/** `folder` is where the bench puts its files. */
export async function describeMachine(folder: string): Promise<Machine> {
  return {
    cpu: cpus()[0]?.model.trim() ?? "unknown CPU",
    cores: availableParallelism(),
    memoryGigabytes: Math.round(totalmem() / 2 ** 30),
    os: `${await distribution()}${type()} ${release()}`,
    node: process.versions.node,
    sqlite: process.versions["sqlite"] ?? "none",
    heddle: version("../../package.json") ?? "unknown",
    commit: await commit(),
    fileSystem: await fileSystemOf(folder),
    loadBefore: loadavg()[0] ?? 0,
    date: new Date().toISOString().slice(0, 10),
  };
}

export function renderMachine(machine: Machine): string {
  const { cpu, cores, memoryGigabytes, os, node, sqlite, heddle, commit, fileSystem, loadBefore, date } = machine;
  const busy = loadBefore > 0.5 ? " (BUSY: run it again when nothing else runs)" : "";
  return [
    `machine: ${cpu}, ${cores} cores, ${memoryGigabytes} GB, ${fileSystem}; ${os}; load before: ${loadBefore.toFixed(2)}${busy}`,
    `software: heddle ${heddle} (${commit}), Node ${node}, SQLite ${sqlite}; ${date}`,
  ].join("\n");
}

async function distribution(): Promise<string> {
  const text = await readFile("/etc/os-release", "utf8").catch(() => "");
  const name = /^PRETTY_NAME="?([^"\n]+)/m.exec(text)?.[1];
  return name === undefined ? "" : `${name}, `;
}

async function commit(): Promise<string> {
  const git = promisify(execFile);
  const cwd = new URL(".", import.meta.url);
  try {
    const { stdout: hash } = await git("git", ["rev-parse", "--short", "HEAD"], { cwd });
    const { stdout: changes } = await git("git", ["status", "--porcelain"], { cwd });
    return `${hash.trim()}${changes === "" ? "" : " and changes"}`;
  } catch {
    return "no commit";
  }
}

const KNOWN = new Map([
  [0xef53, "ext4"],
  [0x01021994, "tmpfs"],
  [0x9123683e, "btrfs"],
  [0x58465342, "xfs"],
  [0x2fc12fc1, "zfs"],
  [0x794c7630, "overlayfs"],
  [0x6969, "nfs"],
  [0x1a, "apfs"],
]);

async function fileSystemOf(folder: string): Promise<string> {
  const { type: magic } = await statfs(folder);
  return KNOWN.get(magic) ?? `file system 0x${magic.toString(16)}`;
}
