import type { JsonObject } from "../../thread/json.ts";
import type { ThreadData } from "../../thread/serialised.ts";
import type { Asked, Cancelled, Decided, Deleted, Entered, MintedCode, Operated, Steered, Summarised } from "./act.ts";
import type { CallDetail, CallDiff, CallPage, CallWire, ThreadView } from "./call.ts";
import type { Info } from "./info.ts";
import type { EntryWindow, ThreadDetail, ThreadPage, ThreadRow } from "./thread.ts";

/** The answer of each route that answers JSON. Handlers and clients are typed by it. */
export interface Answers {
  "GET /api/info": Info;
  "GET /api/openapi.json": JsonObject;
  "POST /api/enter": Entered;
  "POST /api/codes": MintedCode;
  "GET /api/threads": ThreadPage;
  "POST /api/threads": ThreadRow;
  "POST /api/import": ThreadRow;
  "GET /api/threads/{id}": ThreadDetail;
  "DELETE /api/threads/{id}": Deleted;
  "GET /api/threads/{id}/entries": EntryWindow;
  "GET /api/threads/{id}/tail": ThreadData;
  "POST /api/threads/{id}/view": ThreadView;
  "GET /api/threads/{id}/calls": CallPage;
  "GET /api/threads/{id}/calls/{callId}": CallDetail;
  "GET /api/threads/{id}/calls/{callId}/wire": CallWire;
  "GET /api/threads/{id}/diff": CallDiff;
  "POST /api/threads/{id}/ask": Asked;
  "POST /api/threads/{id}/steer": Steered;
  "POST /api/threads/{id}/cancel": Cancelled;
  "POST /api/threads/{id}/approve": Decided;
  "POST /api/threads/{id}/deny": Decided;
  "POST /api/threads/{id}/answer": Decided;
  "POST /api/threads/{id}/context": Operated;
  "POST /api/threads/{id}/reset": Operated;
  "POST /api/threads/{id}/summarize": Summarised;
  "POST /api/threads/{id}/fork": ThreadRow;
}
