import type { Signal } from "../../agent/signal.ts";
import type { JsonValue } from "../../thread/json.ts";
import type { Work } from "../live/signal.ts";
import type { LiveRequest } from "../request/request.ts";
import { callModel } from "./call-model.ts";
import { checkExchange } from "./check-exchange.ts";
import { reportEnd } from "./report-end.ts";
import { runToolCall } from "./run-tool-call.ts";
import type { Scene } from "./scene.ts";
import { summarize } from "./summarize.ts";

/** The result of work; undefined when it was not started because the process stops. */
interface Worked {
  readonly signal: Signal;
  readonly object?: JsonValue;
  readonly thrown?: { readonly error: unknown; readonly code: string };
}

/** Starts work. Undefined where its request has ended here. */
export function performWork(
  scene: Scene,
  work: Work,
  request: LiveRequest | undefined,
): Promise<Worked | undefined> | undefined {
  switch (work.type) {
    case "summarize":
      return summarize(scene, work, request?.abort.signal);
    case "llm_stream":
      return request && callModel(scene, work, request);
    case "tool_exec":
      return request && runToolCall(scene, work, request);
    case "check":
      return request && checkExchange(scene, work, request);
    case "report_end":
      return reportEnd(scene, work);
    default:
      return work satisfies never;
  }
}
