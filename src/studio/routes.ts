import { ask } from "./acts/ask.ts";
import { changeContext, reset, summarize } from "./acts/context.ts";
import { answer, decide } from "./acts/decide.ts";
import { cancel, steer } from "./acts/steer.ts";
import { callDetail } from "./calls/detail.ts";
import { diffCalls } from "./calls/diff.ts";
import { listCalls } from "./calls/list.ts";
import { wireOfCall } from "./calls/wire.ts";
import { json } from "./http/reply.ts";
import type { Route } from "./http/router.ts";
import { studioInfo } from "./info.ts";
import { listEvents } from "./live/list-events.ts";
import { threadEvents } from "./live/thread-events.ts";
import { openApi } from "./openapi.ts";
import { createThread, deleteThread } from "./threads/change.ts";
import { threadDetail } from "./threads/detail.ts";
import { readEntries } from "./threads/entries.ts";
import { forkThread } from "./threads/fork.ts";
import { listThreads } from "./threads/list.ts";
import { viewThread } from "./threads/view.ts";
import { exportThread } from "./transfer/export.ts";
import { importThread } from "./transfer/import.ts";

/** Everything that can be asked of Studio; each is described in openapi.ts. */
export const ROUTES: readonly Route[] = [
  { method: "GET", path: "/api/info", run: studioInfo },
  { method: "GET", path: "/api/openapi.json", run: async () => json(openApi()) },
  { method: "GET", path: "/api/events", run: listEvents },
  { method: "GET", path: "/api/threads", run: listThreads },
  { method: "POST", path: "/api/threads", writes: true, run: createThread },
  { method: "POST", path: "/api/import", writes: true, run: importThread },
  { method: "GET", path: "/api/threads/{id}", run: threadDetail },
  { method: "DELETE", path: "/api/threads/{id}", writes: true, run: deleteThread },
  { method: "GET", path: "/api/threads/{id}/entries", run: readEntries },
  { method: "GET", path: "/api/threads/{id}/events", run: threadEvents },
  { method: "POST", path: "/api/threads/{id}/view", run: viewThread },
  { method: "GET", path: "/api/threads/{id}/calls", run: listCalls },
  { method: "GET", path: "/api/threads/{id}/calls/{callId}", run: callDetail },
  { method: "GET", path: "/api/threads/{id}/calls/{callId}/wire", run: wireOfCall },
  { method: "GET", path: "/api/threads/{id}/diff", run: diffCalls },
  { method: "GET", path: "/api/threads/{id}/export", run: exportThread },
  { method: "POST", path: "/api/threads/{id}/ask", writes: true, run: ask },
  { method: "POST", path: "/api/threads/{id}/steer", writes: true, run: steer },
  { method: "POST", path: "/api/threads/{id}/cancel", writes: true, run: cancel },
  { method: "POST", path: "/api/threads/{id}/approve", writes: true, run: decide("approve") },
  { method: "POST", path: "/api/threads/{id}/deny", writes: true, run: decide("deny") },
  { method: "POST", path: "/api/threads/{id}/answer", writes: true, run: answer },
  { method: "POST", path: "/api/threads/{id}/context", writes: true, run: changeContext },
  { method: "POST", path: "/api/threads/{id}/reset", writes: true, run: reset },
  { method: "POST", path: "/api/threads/{id}/summarize", writes: true, run: summarize },
  { method: "POST", path: "/api/threads/{id}/fork", writes: true, run: forkThread },
];
