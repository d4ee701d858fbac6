import type { Failure } from "../../agent/signal.ts";
import { RequestError } from "../request/request-error.ts";
import type { Scene } from "./scene.ts";

/** The functions that the request was asked with and this process lacks, as the failure of the request. */
export function lostOptions(scene: Scene, requestId: string): Failure | undefined {
  const { run } = scene.agent().state;
  if (run?.requestId !== requestId) return undefined;
  const { hasContext = false, askedTools = [] } = run.options;
  const tools = scene.tools();
  const lost = [
    ...(hasContext && scene.scope(requestId).context === undefined ? ["the context"] : []),
    ...askedTools.filter((name) => !Object.hasOwn(tools, name)).map((name) => `the tool ${name}`),
  ];
  if (lost.length === 0) return undefined;
  const message = `The request was asked with ${lost.join(", ")}, which this process does not have. Give its server or host the functions \`context\` and \`tools\`, and ask again.`;
  return { code: "options_lost", message };
}

/** The same as an exception. */
export function checkOptions(scene: Scene, requestId: string): void {
  const lost = lostOptions(scene, requestId);
  if (lost !== undefined) throw new RequestError({ ...lost, code: "options_lost", requestId });
}
