import type { AgentEvent } from "../../agent/event.ts";
import type { Entry } from "../../thread/entry.ts";
import type { ThreadRow } from "./thread.ts";

/** The data of each event of the two streams, by the name of the event. */
export interface StreamData {
  /** The first event of a stream. */
  ready: { readonly [name: string]: never };
  thread: ThreadRow;
  entry: { readonly entry: Entry };
  agent: AgentEvent;
  deleted: { readonly id: string };
}
