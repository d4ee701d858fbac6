// What the page knows of the server: the types that its handlers are held against, and what only the page makes of them.
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

/** What comes down the stream of one thread, or of all. */
export type StreamEvent =
  | ({ readonly event: "entry" } & StreamData["entry"])
  | { readonly event: "agent"; readonly agent: StreamData["agent"] }
  | { readonly event: "thread"; readonly thread: StreamData["thread"] }
  | { readonly event: "deleted"; readonly deleted: StreamData["deleted"] };

/** A thread in a file: its row in the list, and its entries with the blobs that its model calls name. */
export interface ExportedThread {
  readonly row?: ThreadRow;
  readonly thread: ThreadData & { readonly blobs?: { readonly [hash: string]: JsonValue } };
}
