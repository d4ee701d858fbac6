import type { AnyAgent } from "../agent/definition/config.ts";
import type { ThreadOptions } from "./perform/scene.ts";

const REMEMBERED = 100;

/** Says each thing once, and stops saying new ones when there are too many to remember. */
export function saidOnce(warn: (message: string) => void): (message: string) => void {
  const said = new Set<string>();
  return (message) => {
    if (said.has(message) || said.size >= REMEMBERED) return;
    said.add(message);
    warn(message);
  };
}

/** The same words, which can no longer hurt: whoever cannot hear a warning does not end a request. */
export function harmless(warn: (message: string) => unknown): (message: string) => void {
  return (message) => {
    try {
      void Promise.resolve(warn(message)).catch(() => undefined);
    } catch {
      // nobody hears it, and everything goes on
    }
  };
}

/** The default of `warn`. */
export function systemWarn(message: string): void {
  // biome-ignore lint/suspicious/noConsole: without the option `warn`, the console is where warnings are read
  console.warn(message);
}

/** Agents that were warned of, each once in this process, however many threads it serves. */
const warned = new WeakSet<AnyAgent>();

/** Another prompt or other tools empty the provider's cache, which is easily overlooked. */
export function warnOfChange({
  definition,
  threadId,
  warn,
}: Pick<ThreadOptions, "definition" | "threadId" | "warn">): void {
  if (warned.has(definition)) return;
  warned.add(definition);
  warn(
    `Agent "${definition.name}", thread ${threadId}: the system prompt, the tools or the settings changed between two calls. ` +
      "The provider's prompt cache starts anew each time they do.",
  );
}
