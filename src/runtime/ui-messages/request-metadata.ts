import { evolve, INITIAL_STATE, readRequestEnd } from "../../agent/react/state.ts";
import { type MutableJson, thawObject } from "../../providers/message-parts.ts";
import { ignoreRejection } from "../../thread/errors.ts";
import { copyJsonRepaired, isPlainObject, type JsonObject } from "../../thread/json.ts";
import type { Thread } from "../../thread/thread.ts";
import type { RequestMetadata } from "./options.ts";

/** The metadata that `metadata` makes for the message of an ended request, from the log. */
export function requestMetadata(
  thread: Thread,
  requestId: string,
  make: RequestMetadata,
): { [name: string]: MutableJson | undefined } | undefined {
  const of = thread.filterByRef("requestId", requestId, { partial: true });
  const [first] = of;
  const last = of.findLast(({ payload }) => readRequestEnd(payload) !== undefined);
  const { runId } = last?.refs ?? {};
  if (first === undefined || last === undefined || runId === undefined) return undefined;
  const ended = thread.filterByRef("runId", runId, { partial: true }).reduce(evolve, INITIAL_STATE).last;
  if (ended === undefined) return undefined;
  const { end } = ended;
  const { usage, usageByModel, handedTo } = ended.run;
  const agent = handedTo?.agent ?? ended.run.agent;
  try {
    const made: unknown = make({
      requestId,
      status: end.status,
      ...(end.status === "completed" && { terminationReason: end.terminationReason }),
      ...(agent !== undefined && { agent }),
      ...{ startedAt: first.at, endedAt: last.at, usage, usageByModel },
    });
    ignoreRejection(made);
    if (!isPlainObject(made)) return undefined;
    const { heddle: _ofHeddle, ...own } = copyJsonRepaired(made, "metadata") as JsonObject; // the copy of an object
    return thawObject(own);
  } catch {
    return undefined; // a message is shown without it
  }
}
