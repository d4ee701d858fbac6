import type { Directive } from "../../agent/directive.ts";
import type { Scene } from "./scene.ts";

/** A request that was taken over emits once more what it waits for: the same event, by its id, for those who follow it here. */
export function awaited(
  scene: Scene,
  { requestId, callId, call }: Extract<Directive, { type: "await_approval" | "await_answer" }>,
  kind: "approval_requested" | "answer_requested",
): void {
  const request = scene.request(requestId);
  const { id: toolCallId, name: toolName, arguments: args } = call;
  const isTold = request?.hasTold(
    (event) => event.kind === kind && event.callId === callId && event.toolCallId === toolCallId,
  );
  if (request === undefined || isTold) return;
  const { iteration = 0 } = scene.agent().state.run ?? {};
  request.emit({ kind, callId, toolCallId, toolName, data: { arguments: args }, replayed: true }, iteration);
}
