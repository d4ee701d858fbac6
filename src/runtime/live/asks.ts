import { notAccepted, requestFailed, requestSuspended } from "../request/request-error.ts";
import { effects, update } from "./decision.ts";
import type { Live, QueuedAsk, ToolFacts, Turn } from "./live.ts";
import { suspensionIn, takeBackTools } from "./request-state.ts";
import type { Change, Decision, Given } from "./signal.ts";

/** Prepares the next ask, when there is one and it may be asked. */
export function advanceAsks(decision: Decision): Decision {
  const { asks, isAsking, hold, broken } = decision.live;
  const [ask] = asks;
  if (ask === undefined || isAsking || hold !== undefined) return decision;
  if (broken === undefined && mustWait(decision.live)) return decision;
  return effects(update(decision, { isAsking: true }), { type: "prepare", ask });
}

/** Whether an ask waits for the end of an open request, also of one that is suspended. */
export function mustWait({ queuesAsks, agent }: Pick<Live, "queuesAsks" | "agent">): boolean {
  return queuesAsks && agent.state.run !== undefined;
}

/** The ask leaves the queue before its turn. */
export function withdrawAsk(decision: Decision, askId: string, error: unknown): Decision {
  const { asks, isAsking } = decision.live;
  const index = asks.findIndex(({ id }) => id === askId);
  if (index < 0 || (index === 0 && isAsking)) return decision; // its preparation ends by itself
  const left = update(decision, { asks: asks.filter(({ id }) => id !== askId) });
  return effects(left, { type: "settle_ask", askId, error });
}

/** No ask is taken any more, but for one that is being prepared. */
export function refuseAsks(decision: Decision, error: unknown): Decision {
  const { asks, isAsking } = decision.live;
  const refused = isAsking ? asks.slice(1) : asks;
  const left = update(decision, { asks: isAsking ? asks.slice(0, 1) : [] });
  return effects(left, ...refused.map(({ id }) => ({ type: "settle_ask", askId: id, error }) as const));
}

/** The request has from here on what its caller gave. */
export function giveToRequest(
  decision: Decision,
  requestId: string,
  { context, tools, models, exactCounter, held }: Given,
): Decision {
  const { live } = decision;
  const { agent } = live;
  const ownTools = held?.facts ?? live.ownTools;
  const [model, ...fallbacks] = models?.names ?? [];
  const called = models === undefined ? live.ownModels : { model, fallbacks };
  const facts = { ...withTools(ownTools, tools), ...called, ...(exactCounter && { exactCounter }) };
  const settings = { ...agent.settings, ...facts };
  return update(decision, { ownTools, given: { requestId, context, tools }, agent: { ...agent, settings } });
}

/** The open request has another context, or other tools of its own. */
export function giving(requestId: string, { context, tools }: Pick<Given, "context" | "tools">): Change {
  return {
    live: (live) => {
      const before = live.given?.requestId === requestId ? live.given : undefined;
      return { ...live, given: { requestId, context: context ?? before?.context, tools: tools ?? before?.tools } };
    },
    agent: (agent, { ownTools, given }) => ({
      ...agent,
      settings: { ...agent.settings, ...withTools(ownTools, given?.tools) },
    }),
  };
}

/** Tools of an ask stand beside those of the agent; one of the same name stands in the same place. */
function withTools(own: ToolFacts, more: ToolFacts | undefined): ToolFacts {
  if (more === undefined) return own;
  const specs = new Map([...own.tools, ...more.tools].map((spec) => [spec.name, spec]));
  return { tools: [...specs.values()], traits: { ...own.traits, ...more.traits } };
}

/** The agent took or refused the ask, or the ask could not be decided. */
export function askDecided(decision: Decision, { performed }: Turn, outcome: { readonly error?: unknown }): Decision {
  const [ask, ...others] = decision.live.asks;
  if (ask === undefined) return decision;
  const left = update(decision, { asks: others, isAsking: false });
  const refused = performed.find(({ type }) => type === "emit_request_error");
  if ("error" in outcome) return refuseAsk(left, ask, outcome.error);
  if (refused?.type === "emit_request_error") return refuseAsk(left, ask, notAccepted(ask.requestId, refused.failure));
  // The ask is in the log. It may have ended here before it began.
  const { live } = left;
  if (live.request?.id !== ask.requestId) return refuseAsk(left, ask, endOf(live, ask.requestId));
  return effects(left, { type: "settle_ask", askId: ask.id });
}

export function refuseAsk(decision: Decision, { id, requestId }: QueuedAsk, error: unknown): Decision {
  const isOther = decision.live.request?.id !== requestId;
  const forgotten = isOther ? effects(takeBackTools(decision, requestId), { type: "forget", requestId }) : decision;
  return effects(forgotten, { type: "settle_ask", askId: id, error });
}

/** How a request ends here that the log has, and that this process cannot carry. */
function endOf(live: Live, requestId: string): Error {
  const { broken } = live;
  const isFailed = broken !== undefined && broken.suspension === undefined;
  return isFailed ? requestFailed(requestId, broken.failure) : requestSuspended(requestId, suspensionIn(live));
}
