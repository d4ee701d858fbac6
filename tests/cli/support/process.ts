import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { onTestFinished } from "vitest";
import { bundledScript } from "../../support/bundled-script.ts";

const CLI = new URL("../../../src/cli.ts", import.meta.url);

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** `heddle` as a process of its own; without a terminal, where none of so many columns is asked for. */
export class Heddle {
  stdout = "";
  stderr = "";
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  readonly #waiting = new Set<() => void>();

  constructor(
    args: readonly string[],
    cwd: string,
    env: { readonly [name: string]: string | undefined } = {},
    columns?: number,
  ) {
    const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
    const clean = { PATH, HOME, NODE_COMPILE_CACHE, TERM: "xterm", ...env };
    const line = [process.execPath, bundledScript(CLI), ...args];
    const [command = "", ...given] = columns === undefined ? line : onTerminal(line, columns);
    this.child = spawn(command, given, { cwd, env: clean, stdio: ["pipe", "pipe", "pipe"] });
    onTestFinished(() => void this.child.kill("SIGKILL"));
    this.child.stdin?.on("error", () => {}); // it ended before it read
    this.child.stdout?.on("data", (chunk) => this.#got("stdout", String(chunk)));
    this.child.stderr?.on("data", (chunk) => this.#got("stderr", String(chunk)));
    this.ended = new Promise((resolve) => {
      this.child.on("close", (code) => {
        resolve({ code, stdout: this.stdout, stderr: this.stderr });
        for (const check of this.#waiting) check();
      });
    });
  }

  /** Resolves when it has written that, or has ended. */
  async wrote(pattern: RegExp): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const check = (): void => {
      if (pattern.test(this.stdout + this.stderr) || this.child.exitCode !== null) resolve();
    };
    this.#waiting.add(check);
    check();
    await promise;
    this.#waiting.delete(check);
  }

  /** Types it, and stays. */
  type(text: string): void {
    this.child.stdin?.write(text);
  }

  say(text: string): this {
    this.child.stdin?.end(text);
    return this;
  }

  #got(name: "stdout" | "stderr", text: string): void {
    this[name] += text;
    for (const check of this.#waiting) check();
  }
}

/** Whether `script` of util-linux is there, which runs a command on a terminal of its own. */
export const hasTerminals =
  process.platform === "linux" && spawnSync("script", ["-qec", "true", "/dev/null"]).status === 0;

function onTerminal(command: readonly string[], columns: number): readonly string[] {
  const quoted = command.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
  return ["script", "-qefc", `stty cols ${columns} rows 30; exec ${quoted}`, "/dev/null"];
}

/** Runs it to its end, with nothing on stdin. */
export function heddle(
  args: readonly string[],
  cwd: string,
  env?: { readonly [name: string]: string },
): Promise<Ended> {
  return new Heddle(args, cwd, env).say("").ended;
}
