import type { AgentOutput, AnyAgent } from "../../agent/definition/config.ts";
import type { AgentEvent } from "../../agent/event.ts";
import type { AgentRequest } from "../request/request.ts";
import { requestWaiting } from "../request/request-error.ts";
import type { AgentServer } from "../server/port.ts";
import type { RunHandle, RunResult } from "./options.ts";
import type { Place } from "./place.ts";
import { wholeThread } from "./whole-thread.ts";

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
    const thread = server.thread();
    return Object.freeze({ ...result, thread: isOwn ? await wholeThread(store, thread) : thread });
  } finally {
    await server.stop({ graceMs: 0 }).catch(() => undefined); // the run is over; a claim that stays runs out
  }
}
