// The types of the server's API, and types that only the page derives from them.
import type { JsonValue, ThreadData } from "heddle";
import type { StreamData } from "../../src/studio/contract/event.ts";
import type { ThreadRow } from "../../src/studio/contract/thread.ts";

export type { Answers } from "../../src/studio/contract/answers.ts";
export type { CallDetail, CallPage, CallRow, CauseRule, FirstChange } from "../../src/studio/contract/call.ts";
export type { Info } from "../../src/studio/contract/info.ts";
export type {
  EntryWindow,
  ThreadDetail,
  ThreadPage,
  ThreadQuery,
  ThreadRow,
} from "../../src/studio/contract/thread.ts";

/** The events of the stream of one thread, or of the list. */
export type StreamEvent =
  | ({ readonly event: "entry" } & StreamData["entry"])
  | { readonly event: "agent"; readonly agent: StreamData["agent"] }
  | { readonly event: "thread"; readonly thread: StreamData["thread"] }
  | { readonly event: "deleted"; readonly deleted: StreamData["deleted"] };

/** A thread in an exported page: its row, its entries, and the blobs of its model calls. */
export interface ExportedThread {
  readonly row?: ThreadRow;
  readonly thread: ThreadData & { readonly blobs?: { readonly [hash: string]: JsonValue } };
}
