import type { AgentEvent, TerminationReason } from "../../agent/event.ts";
import type { Usage, UsageByModel } from "../../agent/model-call.ts";
import type { Failure } from "../../agent/signal.ts";
import type { OptionNames } from "../../thread/options.ts";
import type { Thread } from "../../thread/thread.ts";
import type { AgentRequest } from "../request/request.ts";
import { RequestError } from "../request/request-error.ts";
import type { UIDataChunk } from "./message.ts";

/** The source of a stream: a request, or another object that emits its events. */
export type UIMessageSource = Pick<AgentRequest, "id" | "state" | "result" | "events">;

/** The version of the AI SDK in the page, not on the server. */
export type UIClientVersion = 6 | 7;

/** Facts about an ended request, from the log. */
export interface UIRequestFacts {
  readonly requestId: string;
  readonly status: "completed" | "failed" | "cancelled";
  /** Why a completed request ended, such as `final_answer` or a limit. */
  readonly terminationReason?: TerminationReason;
  /** The agent that answered; after a handoff, the last one. Logs of version 0.1 do not name it. */
  readonly agent?: string;
  /** When its ask and its end were written, in milliseconds since 1970. */
  readonly startedAt: number;
  readonly endedAt: number;
  /** The usage of all its calls, and by model. */
  readonly usage: Usage;
  readonly usageByModel: UsageByModel;
}

/** Makes the metadata of the message of an ended request: an object. */
export type RequestMetadata = (request: UIRequestFacts) => object | undefined;

/** How a request is streamed to `useChat`: the client's version, ids, errors, and parts of your own. */
export interface UIMessageStreamOptions {
  /**
   * The version of the AI SDK that reads the stream. Default 7. Version 6 is sent only chunks it knows: text that a
   * retry discards stays as its own step, and a steering message is a `data-steering-message` part.
   */
  readonly client?: UIClientVersion | undefined;
  /** The id of the message that is streamed. Default the request's id, which `toUIMessages` gives it too. */
  readonly messageId?: string | undefined;
  /** Whether thinking is sent. Default true. */
  readonly sendReasoning?: boolean | undefined;
  /**
   * Makes the text that a user reads about a failed request or tool. Called once for each. Default: the message of Heddle or of
   * a ToolError. Failures of the model (`model_...`) and other errors are not shown.
   */
  readonly onError?: ((failure: Failure) => string) | undefined;
  /** Called with each event that is streamed; the returned parts are added to the stream. Default: none. */
  readonly data?: ((event: AgentEvent) => UIDataChunk | readonly UIDataChunk[] | undefined) | undefined;
  /**
   * Makes the metadata of a message whose request has ended. Give the same function to `toUIMessages`, and the message is the same
   * after a reload. Needs `thread`, which `chatTurn` returns. Default: none.
   */
  readonly metadata?: RequestMetadata | undefined;
  /**
   * Called with each event that is streamed; the returned value is merged into the metadata of the message. It is gone after a
   * reload: see `metadata`. Default: none.
   */
  readonly messageMetadata?: ((event: AgentEvent) => unknown) | undefined;
  /** Continues a message that the client has: only events with a greater seq are streamed. See `chatTurn`. Default 0. */
  readonly after?: number | undefined;
  /**
   * For a page that lost the stream: the id of the last event with an id that it has got. The stream begins with the step that was
   * running then, in any process. Of another answer, or without an id: from the first step. Default: none.
   */
  readonly lastEventId?: string | null | undefined;
  /**
   * The thread of the request. Results are streamed in the order of the calls, so a call that waits for an approval or an answer
   * delays those after it. With the thread, these results are streamed before the stream ends. Default: none.
   */
  readonly thread?: (() => Thread | Promise<Thread>) | undefined;
}

export const STREAM_OPTIONS: OptionNames<UIMessageStreamOptions> = {
  client: true,
  messageId: true,
  sendReasoning: true,
  onError: true,
  data: true,
  metadata: true,
  messageMetadata: true,
  after: true,
  lastEventId: true,
  thread: true,
};

/** Whether the page has AI SDK 6. */
export function isClient6(client: UIClientVersion | undefined): boolean {
  if (client === undefined || client === 6 || client === 7) return client === 6;
  const message = "client must be 6 or 7, the version of the AI SDK in the page.";
  throw new RequestError({ code: "invalid_options", message });
}
