import type { ThreadRow } from "../data/contract.ts";

/** Returns the state of a thread. CSS uses it as the name of a color. */
export function stateOf({ live, status: given }: Pick<ThreadRow, "live" | "status">): string {
  return given ?? (live ? "running" : "idle");
}
