import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";
import { bundledScript } from "./bundled-script.ts";
import { processTable } from "./postgres/process-table.ts";
import { until } from "./postgres/until.ts";

/** A script in a process of its own. It is killed when the test is over. */
export interface Child {
  /** The lines it has written so far, all of them once it has ended. */
  readonly lines: readonly string[];
  /** Resolves when it has written so many lines or has ended. */
  wrote(count: number): Promise<void>;
  /** Writes a line to its standard input. */
  tell(line: string): void;
  /** SIGSTOP freezes it, and SIGCONT has it continue. What SIGUSR2 and SIGTERM do is up to the program. */
  send(signal: "SIGSTOP" | "SIGCONT" | "SIGUSR2" | "SIGTERM"): void;
  /** Sends SIGSTOP, and resolves when the process runs no more. */
  freeze(): Promise<void>;
  /** SIGKILL: nothing in it gets a last word. */
  kill(): Promise<void>;
  /** Resolves when it has ended; throws what it wrote to stderr when it failed by itself. */
  readonly ended: Promise<void>;
}

/**
 * Runs a TypeScript file in a process of its own. What it hands to `writeSync(1, ...)` counts as given
 * the moment that returns: it lies in the pipe, whatever happens to the process.
 */
export function startChild(script: URL, ...args: readonly string[]): Child {
  const child = spawn(process.execPath, [bundledScript(script), ...args], { stdio: ["pipe", "pipe", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  child.stdin.on("error", () => {}); // it was killed before it read
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  const wake = () => {
    for (const check of waiting) check();
  };
  createInterface({ input: child.stdout }).on("line", (line) => {
    lines.push(line);
    wake();
  });
  const ended = endOf(child);
  ended.catch(() => {}).finally(wake);
  return {
    lines,
    ended,
    wrote(count) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const check = () => {
        if (lines.length < count && !isOver(child)) return;
        waiting.delete(check);
        resolve();
      };
      waiting.add(check);
      check();
      return promise;
    },
    tell: (line) => void child.stdin.write(`${line}\n`),
    send: (signal) => void child.kill(signal),
    async freeze() {
      child.kill("SIGSTOP");
      const isStopped = () => processTable().some(({ pid, state }) => pid === child.pid && state.startsWith("T"));
      await until("the child is stopped", () => isOver(child) || isStopped());
    },
    async kill() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

/** What a script writes to its standard output. */
export async function runChild(script: URL, ...args: readonly string[]): Promise<string> {
  const child = startChild(script, ...args);
  await child.ended;
  return child.lines.join("\n");
}

function isOver(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

function endOf(child: ChildProcess): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let trouble = "";
  child.stderr?.on("data", (chunk) => {
    trouble += String(chunk);
  });
  child.once("error", reject);
  child.once("close", (code, signal) => {
    if (code === 0 || signal === "SIGKILL") resolve();
    else reject(new Error(`the child ended with ${code ?? signal}:\n${trouble}`));
  });
  return promise;
}
