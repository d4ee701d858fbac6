import type { EndedRequest } from "../../agent/definition/config.ts";
import { type EndedRun, evolve, INITIAL_STATE } from "../../agent/react/state.ts";
import type { Signal } from "../../agent/signal.ts";
import type { EndReport } from "../live/signal.ts";
import { hookAnswer } from "../time-limits.ts";
import type { Scene } from "./scene.ts";

const HOOK = { name: "onRequestEnd", code: "request_end_failed" };

/** Calls `onRequestEnd` once, even if it throws. If the call cannot be made here, the row waits for the next start. */
export async function reportEnd(
  scene: Scene,
  { requestId, commandId: id }: EndReport,
): Promise<{ readonly signal: Extract<Signal, { type: "end_reported" }> } | undefined> {
  const { definition, ports, threadId } = scene;
  const { onRequestEnd, hookTimeoutMs: timeoutMs } = definition;
  const isHeld = scene.isHeld() || (await scene.ensureHeld());
  const last = isHeld ? await endOf(scene, requestId).catch(() => "unread" as const) : "unread";
  if (last === "unread") return undefined;
  try {
    if (last !== undefined)
      await hookAnswer({ ports, timeoutMs }, HOOK, () => onRequestEnd?.(endedRequest(threadId, last)));
  } catch (error) {
    scene.onError(error, { code: HOOK.code, threadId, requestId });
  }
  return id === undefined ? undefined : { signal: { type: "end_reported", id } };
}

/** The end of a request, also of an earlier one. Undefined if the thread does not have it. */
async function endOf({ agent, store, threadId }: Scene, requestId: string): Promise<EndedRun | undefined> {
  const { last } = agent().state;
  if (last?.run.requestId === requestId) return last;
  let state = INITIAL_STATE;
  for await (const entry of store.read(threadId, { refs: { requestId } })) {
    if (entry.refs.requestId === requestId) state = evolve(state, entry);
  }
  return state.last;
}

function endedRequest(threadId: string, { run, end }: EndedRun): EndedRequest {
  const { requestId, runId, refs, text, usage, usageByModel } = run;
  return Object.freeze({ ...end, threadId, requestId, runId, refs, text, usage, usageByModel });
}
