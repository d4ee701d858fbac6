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
