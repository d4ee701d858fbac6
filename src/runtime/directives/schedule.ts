import type { Directive } from "../../agent/directive.ts";
import type { Scene } from "./scene.ts";

/** The signal comes when the request has been at work for so long. */
export function schedule(
  scene: Scene,
  { requestId, signal, ...limit }: Extract<Directive, { type: "schedule" }>,
): void {
  scene.limit(requestId, limit, () => scene.send(signal));
}
