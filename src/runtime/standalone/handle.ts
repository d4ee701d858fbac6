import type { AgentOutput, AnyAgent } from "../../agent/definition/config.ts";
import type { AgentEvent, EventDraft } from "../../agent/event.ts";
import type { ReactAgent } from "../../agent/react/agent.ts";
import type { EndedRun } from "../../agent/react/state.ts";
import type { JsonValue } from "../../thread/json.ts";
import { nextEventSeq } from "../live/thread-metadata.ts";
import type { AgentRequest } from "../request/request.ts";
import { requestWaiting } from "../request/request-error.ts";
import { pastResult } from "../request/result.ts";
import type { AgentServer } from "../server/agent-server.ts";
import type { RunHandle, RunResult } from "./options.ts";
import { type Place, wholeThread } from "./place.ts";

/** The token that was told last. */
export class LastToken {
  token: string | undefined;

  constructor(token?: string) {
    this.token = token;
  }

  readonly listen = (event: AgentEvent): void => {
    if (event.kind === "checkpoint") this.token = event.data.token;
  };
}

/** The run in its caller's hands; the server behind it ends with it. */
export function handleOf<Given extends AnyAgent>(
  server: AgentServer<Given>,
  request: AgentRequest<AgentOutput<Given>>,
  place: Place,
  last: LastToken,
): RunHandle<Given> {
  const result = settled(server, request, place, last);
  result.catch(() => undefined); // reading only events must not raise an unhandled rejection
  return Object.freeze({
    runId: request.runId,
    requestId: request.id,
    events: { [Symbol.asyncIterator]: () => request.events({ until: "waiting" })[Symbol.asyncIterator]() },
    result,
    get token() {
      return last.token;
    },
  });
}

async function settled<Given extends AnyAgent>(
  server: AgentServer<Given>,
  request: AgentRequest<AgentOutput<Given>>,
  { isOwn, store }: Place,
  last: LastToken,
): Promise<RunResult<AgentOutput<Given>>> {
  try {
    for await (const _event of request.events({ until: "waiting" })); // to its end, or to where it waits
    if (request.state === "waiting") throw requestWaiting(request.id, last.token);
    const result = await request.result;
    const thread = await server.thread();
    return Object.freeze({ ...result, thread: isOwn ? await wholeThread(store, thread) : thread });
  } finally {
    await server.stop({ graceMs: 0 }).catch(() => undefined); // the run is over; a claim that stays runs out
  }
}

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
