import type { Ports } from "../../thread/ports.ts";

/**
 * Deterministic ports: ids are numbered per prefix, and each call of the clock advances it by one millisecond.
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
