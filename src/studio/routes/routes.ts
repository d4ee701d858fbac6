import type { ResponseBodies } from "../contract.ts";
import { type JsonResponse, json } from "../http/response.ts";
import type { Route, RouteHandler } from "../http/router.ts";
import { listEvents, threadEvents } from "../live/events.ts";
import { openApi } from "../openapi.ts";
import {
  answer,
  ask,
  cancel,
  changeContext,
  decide,
  enter,
  mintCode,
  reset,
  steer,
  studioInfo,
  summarize,
} from "./actions.ts";
import { callDetail, diffCalls, listCalls, wireOfCall } from "./calls.ts";
import { readEntries } from "./entries.ts";
import { exportThread } from "./export.ts";
import { importThread } from "./import.ts";
import { listThreads } from "./list-threads.ts";
import { createThread, deleteThread, forkThread, threadDetail, threadTail, viewThread } from "./thread.ts";

type Handlers = { readonly [Name in keyof ResponseBodies]: RouteHandler<JsonResponse<ResponseBodies[Name]>> };

/** The handler of each route. The compiler rejects a handler whose answer differs from the contract. */
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

/** Routes that do not answer JSON: event streams and files. */
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
] satisfies readonly (keyof ResponseBodies)[];

/** All routes of Studio. openapi.ts describes each. */
export const ROUTES: readonly Route[] = Object.entries({ ...HANDLERS, ...OTHERS }).map(([name, run]) => {
  const [method = "", path = ""] = name.split(" ");
  return { method, path, writes: method !== "GET" && !READS.includes(name), run };
});
