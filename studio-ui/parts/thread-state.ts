import type { ThreadRow } from "../data/contract.ts";

/** The state of a thread, which is also the name of its color. */
export function stateOf({ live, status: given }: Pick<ThreadRow, "live" | "status">): string {
  return given ?? (live ? "running" : "idle");
}
