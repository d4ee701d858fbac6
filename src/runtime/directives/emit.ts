import type { Directive } from "../../agent/directive.ts";
import type { EventDraft } from "../../agent/event.ts";
import type { Scene } from "./scene.ts";

/** Tells those who follow the request. */
export function emit(scene: Scene, { requestId, iteration, event }: Extract<Directive, { type: "emit" }>): void {
  scene.request(requestId)?.emit(withObject(scene, requestId, event), iteration);
}

/** The final answer in its shape is known to whoever checked it. */
function withObject({ objects }: Scene, requestId: string, event: EventDraft): EventDraft {
  const object = objects.get(requestId);
  if (event.kind !== "request_completed" || object === undefined) return event;
  if (event.data.terminationReason !== "final_answer") return event;
  return { ...event, data: { ...event.data, object } };
}
