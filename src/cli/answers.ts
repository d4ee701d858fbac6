// The types of the answers of Studio's API, under the names that the commands use.
export type { CallDetail, CallDiff as DiffAnswer, CallRow, ThreadView as ViewAnswer } from "../studio/contract/call.ts";
export type { Info as StudioInfo } from "../studio/contract/info.ts";
export type {
  EntryWindow as EntriesWindow,
  ThreadDetail,
  ThreadPage as ThreadsPage,
  ThreadRow,
} from "../studio/contract/thread.ts";
