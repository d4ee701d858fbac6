import { askEntry } from "../../../src/agent/react/entries.ts";
import type { EntryInput } from "../../../src/thread/entry.ts";

/** Another process has ended the nth request of the thread. */
export function endedElsewhere(n: number): EntryInput {
  const end = { status: "cancelled", reason: "Elsewhere." };
  return { kind: "error", payload: { end }, refs: { requestId: `req_${n}`, runId: `run_${n}` } };
}

/** Another process has started a request. */
export const ASKED_ELSEWHERE: EntryInput = askEntry(
  { requestId: "req_other", runId: "run_other", lane: "default", refs: {} },
  { content: "And 3+3?" },
  {},
  { agent: "calculator" },
);
