import type { AgentOutput, AnyAgent } from "../../agent/definition/config.ts";
import type { AgentEvent, EventDraft } from "../../agent/event.ts";
import type { ReactAgent } from "../../agent/react/agent.ts";
import { usageOf } from "../../agent/react/finish.ts";
import type { EndedRun } from "../../agent/react/state.ts";
import type { JsonValue } from "../../thread/json.ts";
import { lazyField } from "../../thread/lazy-field.ts";
import { nextEventSeq } from "../live/thread-metadata.ts";
import type { AgentRequest } from "../request/request.ts";
import { requestWaiting } from "../request/request-error.ts";
import { pastResult } from "../request/result.ts";
import type { AgentServer } from "../server/agent-server.ts";
import type { RunHandle, RunResult } from "./options.ts";
import { type RunSetup, wholeThread } from "./run-token.ts";

/** Remembers the last emitted token. */
export class LastToken {
  token: string | undefined;

  constructor(token?: string) {
    this.token = token;
  }

  readonly listen = (event: AgentEvent): void => {
    if (event.kind === "checkpoint") this.token = event.data.token;
  };
}

/** The handle of a run. Its server stops when the run ends or waits. */
export function handleOf<Agent extends AnyAgent>(
  server: AgentServer<Agent>,
  request: AgentRequest<AgentOutput<Agent>>,
  setup: RunSetup,
  last: LastToken,
): RunHandle<Agent> {
  const result = resultOf(server, request, setup, last);
  result.catch(() => undefined); // reading only events must not raise an unhandled rejection
  const handle = {
    runId: request.runId,
    requestId: request.id,
    events: { [Symbol.asyncIterator]: () => request.events({ until: "waiting" })[Symbol.asyncIterator]() },
    result,
  };
  return Object.freeze(lazyField(handle, "token", () => last.token));
}

async function resultOf<Agent extends AnyAgent>(
  server: AgentServer<Agent>,
  request: AgentRequest<AgentOutput<Agent>>,
  { isOwn, store }: RunSetup,
  last: LastToken,
): Promise<RunResult<AgentOutput<Agent>>> {
  try {
    for await (const _event of request.events({ until: "waiting" })); // until it ends or waits
    if (request.state === "waiting") throw requestWaiting(request.id, last.token);
    const result = await request.result;
    const thread = await server.thread();
    return Object.freeze({ ...result, thread: isOwn ? await wholeThread(store, thread) : thread });
  } finally {
    // The run is over; only `onRequestEnd` may still run. A claim that cannot be released expires.
    await server.stop(request.state === "done" ? {} : { graceMs: 0 }).catch(() => undefined);
  }
}

/** The handle of a run that had ended when its token was minted. Its result is read from the log. */
export function endedHandle<Agent extends AnyAgent>(
  definition: Agent,
  agent: ReactAgent,
  ended: EndedRun,
  token: string,
): RunHandle<Agent> {
  const { runId, requestId } = ended.run;
  const result = pastRunResult(definition, agent, ended) as Promise<RunResult<AgentOutput<Agent>>>; // typed by the definition
  result.catch(() => undefined); // an ignored result must not raise an unhandled rejection
  return Object.freeze({ runId, requestId, token, result, events: terminalEvent(agent, ended, result) });
}

async function pastRunResult(definition: AnyAgent, { thread }: ReactAgent, ended: EndedRun): Promise<RunResult> {
  const entries = thread.filterByRef("requestId", ended.run.requestId, { partial: true });
  return Object.freeze({ ...(await pastResult(definition, entries, ended)), thread });
}

/** The terminal event. The events of every handle end with it, so that a reader of events learns the end. */
function terminalEvent({ thread }: ReactAgent, ended: EndedRun, result: Promise<RunResult>): AsyncIterable<AgentEvent> {
  return {
    async *[Symbol.asyncIterator]() {
      const { run, end, seq: endSeq } = ended;
      const object = end.status === "completed" ? ((await result).object as JsonValue | undefined) : undefined;
      const seq = nextEventSeq(thread, run);
      const { runId, requestId, iteration } = run;
      const at = thread.at(endSeq)?.at ?? 0;
      yield Object.freeze({ ...draftOf(ended, object), id: `${runId}.${seq}`, seq, at, runId, requestId, iteration });
    },
  };
}

function draftOf({ run, end }: EndedRun, object: JsonValue | undefined): EventDraft {
  switch (end.status) {
    case "completed": {
      const { text, usage, usageByModel, finishReason } = run;
      const { terminationReason } = end;
      const ended = { terminationReason, ...(finishReason && { finishReason }) };
      const data = { text, ...ended, usage, usageByModel, ...(object !== undefined && { object }) };
      return { kind: "request_completed", data };
    }
    case "failed":
      return { kind: "request_failed", data: { failure: end.failure, ...usageOf(run) } };
    case "cancelled":
      return { kind: "request_cancelled", data: { reason: end.reason, ...usageOf(run) } };
    default:
      return end satisfies never;
  }
}
