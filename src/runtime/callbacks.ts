import { ignoreRejection } from "../thread/errors.ts";

/** Where an error was thrown. */
export interface ErrorOrigin {
  /** The code of the failure in events and in the log. */
  readonly code: string;
  readonly threadId: string;
  readonly requestId?: string | undefined;
  readonly toolName?: string | undefined;
  readonly toolCallId?: string | undefined;
}

/**
 * Called with each original error of a provider, tool, guard, summarizer or other function of the caller, once per attempt. Log
 * and events have a code and a message of Heddle in its place, because its text may contain anything. One exception: the message
 * of an error that a tool's `execute` or schema throws is the result of the call. Not awaited; what it throws is ignored.
 */
export type OnError = (error: unknown, origin: ErrorOrigin) => unknown;

/** The same callback, but errors and rejections of it are ignored: a failing callback must not fail a request. */
export function ignoreErrorsOf<Args extends readonly unknown[]>(
  callback: ((...args: Args) => unknown) | undefined,
): (...args: Args) => void {
  return (...args) => {
    try {
      ignoreRejection(callback?.(...args));
    } catch {
      // ignored
    }
  };
}

/** The default of `warn`. */
export function systemWarn(message: string): void {
  // biome-ignore lint/suspicious/noConsole: without the option `warn`, warnings go to the console
  console.warn(message);
}

const MAX_WARNINGS = 100;

/** Passes on each warning once, up to a limit of different ones. */
export function warnOnce(warn: (message: string) => void): (message: string) => void {
  const passed = new Set<string>();
  return (message) => {
    if (passed.has(message) || passed.size >= MAX_WARNINGS) return;
    passed.add(message);
    warn(message);
  };
}

/** The agents with a warning so far, so that each is warned of once in this process. */
const changed = new WeakSet<object>();

interface ChangedThread {
  readonly definition: { readonly name: string };
  readonly threadId: string;
  readonly warn: (message: string) => void;
}

/** Warns that another prompt or other tools empty the prompt cache of the provider. */
export function warnOfChange({ definition, threadId, warn }: ChangedThread): void {
  if (changed.has(definition)) return;
  changed.add(definition);
  warn(
    `Agent "${definition.name}", thread ${threadId}: the system prompt, the tools or the settings changed between two calls. ` +
      "Each change empties the prompt cache of the provider.",
  );
}
