import type { AnyAgent } from "../../agent/definition/agent.ts";
import type { WaitingCall } from "../../agent/react/waiting.ts";
import { loadAgent } from "../../runtime/session/load.ts";
import type { Thread } from "../../thread/thread.ts";
import type { ThreadDetail } from "../contract/thread.ts";
import { type Answer, json } from "../http/reply.ts";
import type { Call } from "../http/router.ts";
import type { Studio } from "../studio.ts";
import { loadForLanes } from "./filtered.ts";
import { lanesOf } from "./of-lane.ts";
import { rowOf } from "./row.ts";

const TAIL = 64;

/** GET /api/threads/{id} */
export async function threadDetail({ studio, param }: Call): Promise<Answer<ThreadDetail>> {
  const id = param("id");
  const thread = await loadForLanes(studio.store, id, { last: TAIL });
  const [row, request, forks] = await Promise.all([
    rowOf(studio, thread),
    openRequest(studio, thread),
    studio.forks.of(id),
  ]);
  const lanes = lanesOf(thread.toArray(), thread.base);
  return json<ThreadDetail>({ ...row, ...lanes, ...(request && { request }), forks });
}

/** The open request according to the log. The log is searched only if the status says that one is open. */
async function openRequest(studio: Studio, { id, metadata }: Thread): Promise<ThreadDetail["request"]> {
  if (metadata["status"] !== "running" && metadata["status"] !== "waiting") return undefined;
  const settings = await studio.settings;
  const { run } = (await loadAgent(studio.store, id, settings, studio.ports)).state;
  if (run === undefined) return undefined;
  const waiting = run.calls.flatMap(({ call, status }): readonly WaitingCall[] => {
    const { id: toolCallId, name, arguments: given } = call;
    if (status === "approval_requested") return [{ toolCallId, name, arguments: given, kind: "approval" }];
    // A call with approval is `started` after the approval, and still waits for its result from outside.
    const isOpen = status === "open" || status === "started";
    return isOpen && isForOutside(studio.agent, name) ? [{ toolCallId, name, arguments: given, kind: "answer" }] : [];
  });
  const state = studio.live.get(id)?.state ?? (waiting.length > 0 ? "waiting" : "running");
  return { id: run.requestId, state, iteration: run.iteration, waiting };
}

/** A tool without `execute` waits for a result from outside. */
function isForOutside({ tools }: AnyAgent, name: string): boolean {
  return Object.hasOwn(tools, name) && tools[name]?.execute === undefined;
}
