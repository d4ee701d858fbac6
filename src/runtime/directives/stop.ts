import type { Directive } from "../../agent/directive.ts";
import type { ReactAgent } from "../../agent/react/agent.ts";
import type { Failure } from "../../agent/signal.ts";
import type { LiveRequest } from "../request/request.ts";
import { requestCancelled, requestFailed } from "../request/request-error.ts";
import { resultIn } from "../request/result.ts";
import type { Scene } from "./scene.ts";

/** The request has ended: whoever waits for its result gets it. */
export function stop(scene: Scene, { requestId }: Extract<Directive, { type: "stop" }>, agent: ReactAgent): void {
  const request = scene.request(requestId);
  const { last } = agent.state;
  const object = scene.objects.get(requestId);
  scene.objects.delete(requestId);
  if (request === undefined || last?.run.requestId !== requestId) return;
  const { end } = last;
  switch (end.status) {
    case "completed":
      request.complete(resultIn(agent.thread.filterByRef("requestId", requestId, { partial: true }), last, object));
      break;
    case "failed":
      request.reject(requestFailed(requestId, end.failure, causeOf(request, end.failure)));
      break;
    case "cancelled":
      request.reject(requestCancelled(requestId, end.reason));
      break;
    default:
      end satisfies never;
  }
}

/** What was thrown before may have been got over: only what became this failure is its cause. */
function causeOf({ thrown }: LiveRequest, { code }: Failure): unknown {
  return thrown?.code === code ? thrown.error : undefined;
}
