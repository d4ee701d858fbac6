// The types of the server's API, and types that only the page derives from them.
import type { JsonValue } from "heddle";
import type { ThreadData } from "heddle/core";
import type { StreamData, ThreadRow } from "../../src/studio/contract.ts";

export type {
  CallDetail,
  CallPage,
  CallRow,
  EntryWindow,
  Info,
  MessageChange,
  ResponseBodies,
  ThreadDetail,
  ThreadQuery,
  ThreadRow,
  ThreadRowPage,
} from "../../src/studio/contract.ts";

/** An event of the server's stream for one thread or for the thread list. */
export type StreamEvent =
  | ({ readonly event: "entry" } & StreamData["entry"])
  | { readonly event: "agent"; readonly agent: StreamData["agent"] }
  | { readonly event: "thread"; readonly thread: StreamData["thread"] }
  | { readonly event: "deleted"; readonly deleted: StreamData["deleted"] };

/** The data of an exported page: the list row, the entries, and the blobs of the model calls. */
export interface ExportedThread {
  readonly row?: ThreadRow;
  readonly thread: ThreadData & { readonly blobs?: { readonly [hash: string]: JsonValue } };
}
