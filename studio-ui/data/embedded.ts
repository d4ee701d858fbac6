import { type Entry, Thread } from "heddle";
import { branchesOf } from "../../src/studio/branches.ts";
import { entriesOfLane, lanesOf, matchesFilter } from "../../src/studio/entry-filter.ts";
import { callRows } from "./calls.ts";
import type { CallRow, ExportedThread, ThreadDetail, ThreadRow } from "./contract.ts";
import { rebuildCall } from "./rebuild.ts";
import { ApiError, type Source } from "./source.ts";

/** Returns the thread embedded in an exported page. Undefined in a page that a server delivers. */
export function embeddedData(): ExportedThread | undefined {
  const text = document.getElementById("heddle-data")?.textContent?.trim();
  if (!text?.startsWith("{")) return undefined;
  return JSON.parse(text) as ExportedThread;
}

/** Reads the thread embedded in the exported page. Nothing is fetched, and nothing can be changed. */
export function embeddedSource({ thread: { blobs = {}, ...data }, row }: ExportedThread): Source {
  const thread = Thread.fromJSON(data);
  const entries = thread.toArray();
  const rows = callRows(entries);
  const detail = detailOf(thread, entries, row);
  const find = (callId: string): CallRow => {
    const row = rows.find((each) => each.callId === callId);
    if (row === undefined) throw new ApiError("call_not_found", `The file records no model call ${callId}.`, 404);
    return row;
  };
  const named = rows[0]?.model ?? "unknown model";
  return {
    kind: "file",
    info: async () => ({
      ...{ name: "heddle", version: "", readOnly: true, demo: named.includes("demo"), model: named },
      ...{ agent: "", agents: [], tools: [], prompts: [], store: "exported file", providers: [], importLimit: 0 },
    }),
    threads: async () => ({ threads: [detail] }),
    thread: async () => detail,
    entries: async (_, from, to) => ({
      entries: entries.slice(from - thread.firstSeq, to + 1 - thread.firstSeq),
      rev: thread.rev,
    }),
    // Searches the whole thread. Only the server's search has a time limit.
    filtered: async (_, { kinds, lane, from, to = thread.lastSeq }) => {
      const ofLane = lane === undefined ? entries : entriesOfLane(entries, thread.base, lane);
      const found = ofLane.filter(
        (entry) => (kinds.length === 0 || matchesFilter(entry, kinds)) && entry.seq >= (from ?? 0) && entry.seq <= to,
      );
      return { entries: found, rev: thread.rev, searched: { from: from ?? thread.firstSeq, to } };
    },
    tail: async () => thread,
    calls: async (_, { before = Number.POSITIVE_INFINITY, limit }) => ({
      calls: rows.filter(({ seq }) => seq < before).slice(0, limit),
    }),
    call: async (_, callId) => rebuildCall(thread, find(callId), rows[rows.indexOf(find(callId)) + 1], blobs),
    listen: (_, { onState }) => {
      onState("open");
      return () => undefined;
    },
    download: async () => undefined, // does nothing: the exported page is a file already
    act: undefined,
  };
}

function detailOf(thread: Thread, entries: readonly Entry[], row: ThreadRow | undefined): ThreadDetail {
  const { id, rev, createdAt, updatedAt } = thread;
  const branches = branchesOf(thread);
  return {
    ...{ id, rev, createdAt, updatedAt, title: id },
    ...row,
    live: false,
    ...lanesOf(entries, thread.base),
    forks: [],
    ...(branches && { branches }),
  };
}
