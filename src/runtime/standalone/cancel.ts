import type { AnyAgent } from "../../agent/definition/config.ts";
import type { AgentEvent } from "../../agent/event.ts";
import { requestCancelled } from "../request/request-error.ts";
import { openServer } from "./continue.ts";
import { endedHandle } from "./ended.ts";
import { LastToken } from "./handle.ts";
import type { CancelOptions, RunHandle } from "./options.ts";
import { placeOf } from "./place.ts";
import { readToken, revokedRun } from "./run-token.ts";
import { stoodAt } from "./stood.ts";

/** Ends the run of a token where it stands, without another call. */
export async function cancelRun<Given extends AnyAgent>(
  agent: Given,
  token: string,
  options: CancelOptions<Given>,
): Promise<RunHandle<Given>> {
  const { revocations } = options;
  const reason = (options.reason ?? "The run was cancelled.").toWellFormed();
  const place = placeOf(agent, options);
  const good = await readToken(token, agent, { ...place, revocations });
  const stood = await stoodAt(place, good);
  if (stood.state.last !== undefined) return endedHandle(agent, stood, stood.state.last, token);
  const { runId, requestId } = good.state;
  const events: AgentEvent[] = [];
  const last = new LastToken(token);
  const listen = (event: AgentEvent): void => {
    last.listen(event);
    events.push(event);
  };
  const instead = { type: "cancel", reason } as const;
  const server = await openServer(agent, place, good, { context: options.context, listen, instead });
  await server.stop({ graceMs: 0 });
  // Of the run rather than of this token: older ones must not go on either.
  await revocations?.revoke(revokedRun(runId));
  const result = Promise.reject(requestCancelled(requestId, reason));
  result.catch(() => undefined); // an ignored result must not raise an unhandled rejection
  return Object.freeze({ runId, requestId, token: last.token, events: replayed(events), result });
}

function replayed(events: readonly AgentEvent[]): AsyncIterable<AgentEvent> {
  return {
    async *[Symbol.asyncIterator]() {
      yield* events;
    },
  };
}
