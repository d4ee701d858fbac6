import type { Directive } from "../../agent/directive.ts";
import type { Scene } from "./scene.ts";

/** The signal comes when the request has been at work for so long. */
export function schedule(scene: Scene, { requestId, afterMs, signal }: Extract<Directive, { type: "schedule" }>): void {
  scene.limit(requestId, afterMs, () => scene.send(signal));
}
