import { spawn } from "node:child_process";
import { delimiter } from "node:path";
import { root } from "./root.ts";

export interface Finished {
  readonly ok: boolean;
  readonly output: string;
  readonly seconds: number;
}

const env = {
  ...process.env,
  PATH: `${root}node_modules/.bin${delimiter}${process.env["PATH"] ?? ""}`,
  // The TypeScript compiler is a Go program, and lives for seconds: it collects its garbage less often.
  GOGC: process.env["GOGC"] ?? "400",
};
const plain = { ...env, NO_COLOR: "1", FORCE_COLOR: undefined };

/** Runs a shell line with the PATH of an npm script, and captures its output. */
export function quietly(line: string): Promise<Finished> {
  const started = performance.now();
  const child = spawn(line, { cwd: root, env: plain, shell: true, stdio: ["ignore", "pipe", "pipe"] });
  const chunks: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => chunks.push(chunk));
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => {
      const seconds = (performance.now() - started) / 1000;
      resolve({ ok: code === 0, output: Buffer.concat(chunks).toString("utf8").trimEnd(), seconds });
    });
  });
}

/** Runs a shell line and passes its output through. Resolves to its exit code. */
export function loudly(line: string): Promise<number> {
  const child = spawn(line, {
    cwd: root,
    env: process.stdout.isTTY ? env : plain,
    shell: true,
    stdio: ["ignore", "inherit", "inherit"],
  });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve(code ?? 1));
  });
}

/** Prints one line per finished step, and its output only if it failed. */
export function report(name: string, { ok, output, seconds }: Finished): void {
  console.log(`${ok ? "ok  " : "FAIL"} ${name.padEnd(10)} ${seconds.toFixed(1)}s`);
  if (!ok && output !== "") console.log(output);
}
