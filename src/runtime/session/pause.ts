import type { RuntimePorts } from "../ports.ts";

/** Lets time pass. */
export function pause({ after }: Pick<RuntimePorts, "after">, ms: number): Promise<void> {
  return new Promise((resolve) => {
    after(ms, resolve);
  });
}
