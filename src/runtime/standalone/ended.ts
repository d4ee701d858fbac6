import type { AgentOutput, AnyAgent } from "../../agent/definition/config.ts";
import type { AgentEvent, EventDraft } from "../../agent/event.ts";
import type { ReactAgent } from "../../agent/react/agent.ts";
import type { EndedRun } from "../../agent/react/state.ts";
import type { JsonValue } from "../../thread/json.ts";
import { nextEventSeq } from "../live/thread-metadata.ts";
import { pastResult } from "../request/past-result.ts";
import type { RunHandle, RunResult } from "./options.ts";

/** The handle of a run that had ended when its token was minted: the log tells what it came to, and nothing is called. */
export function endedHandle<Given extends AnyAgent>(
  definition: Given,
  stood: ReactAgent,
  ended: EndedRun,
  token: string,
): RunHandle<Given> {
  const { runId, requestId } = ended.run;
  const result = toldAgain(definition, stood, ended) as Promise<RunResult<AgentOutput<Given>>>; // its output is of the definition
  result.catch(() => undefined); // an ignored result must not raise an unhandled rejection
  return Object.freeze({ runId, requestId, token, result, events: terminalEvent(stood, ended, result) });
}

async function toldAgain(definition: AnyAgent, { thread }: ReactAgent, ended: EndedRun): Promise<RunResult> {
  const entries = thread.filterByRef("requestId", ended.run.requestId, { partial: true });
  return Object.freeze({ ...(await pastResult(definition, entries, ended)), thread });
}

/** Every handle's events end with the terminal one, so that whoever only reads events learns how it ended. */
function terminalEvent(stood: ReactAgent, ended: EndedRun, result: Promise<RunResult>): AsyncIterable<AgentEvent> {
  return {
    async *[Symbol.asyncIterator]() {
      const { run, end, seq: endSeq } = ended;
      const object = end.status === "completed" ? ((await result).object as JsonValue | undefined) : undefined;
      const seq = nextEventSeq(stood.thread, run);
      const { runId, requestId, iteration } = run;
      const at = stood.thread.at(endSeq)?.at ?? 0;
      yield Object.freeze({ ...draftOf(ended, object), id: `${runId}.${seq}`, seq, at, runId, requestId, iteration });
    },
  };
}

function draftOf(
  { run: { text, usage, usageByModel, finishReason }, end }: EndedRun,
  object: JsonValue | undefined,
): EventDraft {
  switch (end.status) {
    case "completed": {
      const { terminationReason } = end;
      const ended = { terminationReason, ...(finishReason && { finishReason }) };
      const data = { text, ...ended, usage, usageByModel, ...(object !== undefined && { object }) };
      return { kind: "request_completed", data };
    }
    case "failed":
      return { kind: "request_failed", data: { failure: end.failure } };
    case "cancelled":
      return { kind: "request_cancelled", data: { reason: end.reason } };
    default:
      return end satisfies never;
  }
}
