import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const root: string = fileURLToPath(new URL("../../", import.meta.url));

/** What readers copy runs against the built package, as it will on their machine. */
export function mustBeBuilt(): void {
  for (const door of ["index", "sqlite", "testing"]) {
    if (!existsSync(`${root}dist/${door}.js`)) throw new Error("dist is missing. Run: npm run build (npm test does).");
  }
}

export interface Run {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program without a terminal and without stdin. */
export async function run(command: string, args: readonly string[], cwd: string): Promise<Run> {
  const env = { ...process.env, NODE_NO_WARNINGS: "1", FORCE_COLOR: undefined, NODE_OPTIONS: undefined };
  const child = spawn(command, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => stdout.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => stderr.push(chunk));
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, stdout: textOf(stdout), stderr: textOf(stderr) }));
  });
}

/** Runs a script with this Node. */
export function runScript(script: string, cwd: string): Promise<Run> {
  return run(process.execPath, [script], cwd);
}

/** An empty folder that is gone afterwards. */
export async function inScratch<Result>(work: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), "heddle-docs-"));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function textOf(chunks: readonly Buffer[]): string {
  return Buffer.concat(chunks).toString("utf8");
}
