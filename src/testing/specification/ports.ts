import type { Ports } from "../../thread/ports.ts";

/**
 * Ports of a world in which nothing is left to chance: ids are numbered by what they are for, and the clock goes on by one
 * millisecond each time it is asked.
 *
 * @example
 * const { ids } = numberedPorts();
 * ids("call"); // "call_1"
 */
export function numberedPorts(): Ports {
  const counts = new Map<string, number>();
  let now = 0;
  return {
    clock: () => now++,
    ids: (prefix) => {
      const count = (counts.get(prefix) ?? 0) + 1;
      counts.set(prefix, count);
      return `${prefix}_${count}`;
    },
  };
}
