import { ask } from "./acts/ask.ts";
import { changeContext, reset, summarize } from "./acts/context.ts";
import { answer, decide } from "./acts/decide.ts";
import { enter, mintCode } from "./acts/enter.ts";
import { cancel, steer } from "./acts/steer.ts";
import { callDetail } from "./calls/detail.ts";
import { diffCalls } from "./calls/diff.ts";
import { listCalls } from "./calls/list.ts";
import { wireOfCall } from "./calls/wire.ts";
import type { Answers } from "./contract/answers.ts";
import { type Answer, json } from "./http/reply.ts";
import type { Route, Run } from "./http/router.ts";
import { studioInfo } from "./info.ts";
import { listEvents } from "./live/list-events.ts";
import { threadEvents } from "./live/thread-events.ts";
import { openApi } from "./openapi.ts";
import { createThread, deleteThread } from "./threads/change.ts";
import { threadDetail } from "./threads/detail.ts";
import { readEntries } from "./threads/entries.ts";
import { forkThread } from "./threads/fork.ts";
import { listThreads } from "./threads/list.ts";
import { threadTail } from "./threads/tail.ts";
import { viewThread } from "./threads/view.ts";
import { exportThread } from "./transfer/export.ts";
import { importThread } from "./transfer/import.ts";

type Handlers = { readonly [Name in keyof Answers]: Run<Answer<Answers[Name]>> };

/** The handlers by route. A handler with another answer than its route does not compile. */
const HANDLERS: Handlers = {
  "GET /api/info": studioInfo,
  "GET /api/openapi.json": async () => json(openApi()),
  "POST /api/enter": enter,
  "POST /api/codes": mintCode,
  "GET /api/threads": listThreads,
  "POST /api/threads": createThread,
  "POST /api/import": importThread,
  "GET /api/threads/{id}": threadDetail,
  "DELETE /api/threads/{id}": deleteThread,
  "GET /api/threads/{id}/entries": readEntries,
  "GET /api/threads/{id}/tail": threadTail,
  "POST /api/threads/{id}/view": viewThread,
  "GET /api/threads/{id}/calls": listCalls,
  "GET /api/threads/{id}/calls/{callId}": callDetail,
  "GET /api/threads/{id}/calls/{callId}/wire": wireOfCall,
  "GET /api/threads/{id}/diff": diffCalls,
  "POST /api/threads/{id}/ask": ask,
  "POST /api/threads/{id}/steer": steer,
  "POST /api/threads/{id}/cancel": cancel,
  "POST /api/threads/{id}/approve": decide("approve"),
  "POST /api/threads/{id}/deny": decide("deny"),
  "POST /api/threads/{id}/answer": answer,
  "POST /api/threads/{id}/context": changeContext,
  "POST /api/threads/{id}/reset": reset,
  "POST /api/threads/{id}/summarize": summarize,
  "POST /api/threads/{id}/fork": forkThread,
};

/** Routes whose answer is not JSON: streams and files. */
const OTHERS = {
  "GET /api/events": listEvents,
  "GET /api/threads/{id}/events": threadEvents,
  "GET /api/threads/{id}/export": exportThread,
} as const;

/** The POST routes that change no thread. A read-only Studio allows them. */
const READS: readonly string[] = [
  "POST /api/threads/{id}/view",
  "POST /api/enter",
  "POST /api/codes",
] satisfies readonly (keyof Answers)[];

/** All routes of Studio. openapi.ts describes each. */
export const ROUTES: readonly Route[] = Object.entries({ ...HANDLERS, ...OTHERS }).map(([name, run]) => {
  const [method = "", path = ""] = name.split(" ");
  return { method, path, writes: method !== "GET" && !READS.includes(name), run };
});
