import type { ThreadRow } from "../data/contract.ts";

/** How a thread stands, in a word; also the name of its colour. */
export function stateOf({ live, status: given }: Pick<ThreadRow, "live" | "status">): string {
  return given ?? (live ? "running" : "idle");
}
