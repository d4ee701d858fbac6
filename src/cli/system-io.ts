import { spawn } from "node:child_process";
import { createInterface, type Interface } from "node:readline";
import { text } from "node:stream/consumers";
import type { WriteStream } from "node:tty";
import { BrokenPipe } from "./exit.ts";
import type { Io, Sink } from "./io.ts";
import { TerminalKeyboard } from "./keyboard.ts";

type Interrupt = Parameters<Io["onInterrupt"]>[0];

/** The input and output of this process. */
export function systemIo(): Io {
  const handlers = new Set<Interrupt>();
  let signaledAt = Number.NEGATIVE_INFINITY;
  const signaled = (signal: "SIGINT" | "SIGTERM"): void => {
    const now = performance.now();
    if (now - signaledAt < SAME_MS) return;
    signaledAt = now;
    for (const handler of [...handlers]) handler(signal);
  };
  const [stdout, stderr] = [sinkOf(process.stdout), sinkOf(process.stderr)];
  return {
    stdout,
    stderr,
    env: process.env,
    cwd: process.cwd(),
    now: Date.now,
    stdinIsTerminal: process.stdin.isTTY === true,
    lines: () => createInterface({ input: process.stdin }),
    text: () => text(process.stdin),
    bytes: () => process.stdin,
    every: (ms, again) => {
      const timer = setInterval(again, ms).unref();
      return () => clearInterval(timer);
    },
    keyboard: () =>
      new TerminalKeyboard({
        stdin: process.stdin,
        screen: process.stderr,
        stdout,
        stderr,
        isDumb: process.env["TERM"] === "dumb",
        interrupted: () => signaled("SIGINT"),
      }),
    ask: (question) => ask(question, () => (handlers.size > 0 ? signaled("SIGINT") : process.exit(130))),
    onInterrupt: (handler) => {
      if (handlers.size === 0) for (const signal of SIGNALS) process.on(signal, signaled);
      handlers.add(handler);
      return () => {
        handlers.delete(handler);
        if (handlers.size === 0) for (const signal of SIGNALS) process.off(signal, signaled);
      };
    },
    leave: (code) => process.exit(code),
    open,
    fetch: (...given) => fetch(...given),
  };
}

/** npx and other parents forward a Ctrl-C that the terminal sent to this process already. The second one is ignored. */
const SAME_MS = 250;
const SIGNALS = ["SIGINT", "SIGTERM"] as const;

function sinkOf(stream: NodeJS.WriteStream | WriteStream): Sink {
  let broken = false;
  let drained = Promise.withResolvers<void>();
  stream.on("error", () => {
    broken = true; // usually EPIPE; after any error nothing more can be written
    drained.resolve();
  });
  stream.on("drain", () => {
    drained.resolve();
    drained = Promise.withResolvers<void>();
  });
  return {
    isTerminal: stream.isTTY === true,
    get columns() {
      return stream.columns || 100; // some terminals report 0
    },
    write: async (piece) => {
      if (broken) throw new BrokenPipe();
      if (!stream.write(piece)) await drained.promise;
      if (broken) throw new BrokenPipe();
    },
  };
}

/** Asks one question. In raw mode Ctrl-C sends no signal, so `interrupted` is called from readline's event. */
function ask(question: string, interrupted: () => void): Promise<string | undefined> {
  const reader: Interface = createInterface({ input: process.stdin, output: process.stderr });
  return new Promise((resolve) => {
    reader.on("SIGINT", () => {
      reader.close();
      interrupted();
    });
    reader.on("close", () => resolve(undefined));
    reader.question(question, (answer) => {
      resolve(answer);
      reader.close();
    });
  });
}

function open(url: string): void {
  const [command, ...args] =
    process.platform === "darwin"
      ? ["open"]
      : process.platform === "win32"
        ? ["rundll32", "url.dll,FileProtocolHandler"]
        : ["xdg-open"];
  if (command === undefined) return;
  const child = spawn(command, [...args, url], { stdio: "ignore", detached: true });
  child.on("error", () => undefined); // there is no browser; the address has been printed
  child.unref();
}
