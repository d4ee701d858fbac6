import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** Runs a script in a process of its own and answers the JSON in the last line it prints. */
export async function runScript<Answer>(
  script: string,
  args: readonly string[],
  nodeOptions: readonly string[] = [],
): Promise<Answer> {
  const { stdout } = await promisify(execFile)(process.execPath, [...nodeOptions, script, ...args], {
    maxBuffer: 2 ** 28,
  });
  return JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "") as Answer;
}

/** Of an error, or of a child process that failed, the line that says why. */
export function reasonOf(error: unknown): string {
  const text = error instanceof Error ? ("stderr" in error && String(error.stderr)) || error.message : String(error);
  const lines = text.split("\n").map((line) => line.trim());
  return lines.find((line) => /^\w*Error\b/.test(line)) ?? lines.find((line) => line !== "") ?? "unknown";
}
