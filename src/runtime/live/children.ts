import type { Directive } from "../../agent/directive.ts";
import { answerToParent } from "../../agent/react/finish.ts";
import type { RequestEnd } from "../../agent/react/state.ts";
import type { Failure, Signal, ToolOutcome } from "../../agent/signal.ts";
import { contentOf, UnreadablePayload } from "../../projection/transcript/payload.ts";
import type { Command, PostedCommand } from "../../stores/command.ts";
import { isPlainObject, type JsonObject } from "../../thread/json.ts";
import { followedBy } from "./decision.ts";
import type { CallerAnswer } from "./live.ts";
import type { Decision } from "./signal.ts";

type ChildEnded = Extract<Signal, { readonly type: "child_ended" }>;

/** The end of a child in a row of the inbox. */
export function childEndIn(id: string, body: JsonObject): ChildEnded {
  const { callId, toolCallId, content, isError, details, usage, usageByModel } = body;
  if (typeof callId !== "string" || typeof toolCallId !== "string") throw new UnreadablePayload("it must name a call");
  const outcome: ToolOutcome = {
    content: contentOf(content),
    isError: isError === true,
    ...(details !== undefined && { details }),
  };
  const used = (isPlainObject(usage) ? usage : {}) as ChildEnded["usage"]; // a process of Heddle has posted it
  const byModel = (isPlainObject(usageByModel) ? usageByModel : {}) as ChildEnded["usageByModel"]; // as above
  return { type: "child_ended", id, callId, toolCallId, outcome, usage: used, usageByModel: byModel };
}

type Ended = Parameters<typeof answerToParent>[0];

/** The end of a request, or of an ask that has not become one, for the thread that has sent it. */
export function endToParent(
  {
    requestId,
    options,
    text = "",
    usage = {},
    usageByModel = {},
  }: Pick<Ended, "requestId" | "options"> & Partial<Ended>,
  end: RequestEnd,
): readonly PostedCommand[] {
  return answerToParent({ requestId, options, text, usage, usageByModel }, end).flatMap(sentCommand);
}

/** The end of a waiting ask that was withdrawn, or whose thread was deleted. */
export function withdrawnEnd(deleted?: Failure): RequestEnd {
  return deleted ? { status: "failed", failure: deleted } : { status: "cancelled", reason: WITHDRAWN };
}

export const WITHDRAWN = "The ask was withdrawn before its turn.";

/** The command that a directive posts to another thread. */
export function sentCommand({
  threadId,
  command,
  agent,
}: Extract<Directive, { type: "send" }>): readonly PostedCommand[] {
  return command === undefined ? [] : [{ threadId, command, ...(agent !== undefined && { agent }) }];
}

/** A row cancels the request of this child. An ask that waits is refused when its turn comes. */
export function cancelChild(
  decision: Decision,
  { id, requestId }: { readonly id: string; readonly requestId: string },
): Decision {
  const { inbox, asks, agent } = decision.live;
  const revision = inbox.get(id);
  if (revision === undefined || asks.some((ask) => ask.requestId === requestId)) return decision;
  if (agent.state.run?.requestId === requestId) {
    return followedBy(decision, { type: "agent", signal: { type: "cancel", requestId, reason: PARENT_GONE } });
  }
  const consumes = [{ id, outcome: { status: "dropped", reason: "closed" }, revision }] as const;
  const then: readonly CallerAnswer[] = [];
  return followedBy(decision, { type: "consume", consumes, then, metadata: {} });
}

/** The reason for which a child is cancelled. */
export const PARENT_GONE = "The call that asked for it was closed.";

/** The request that a row cancels. */
export function cancelledIn({ id, body }: Pick<Command, "id" | "body">): {
  readonly id: string;
  readonly requestId: string;
} {
  return { id, requestId: String(body["requestId"]) };
}
