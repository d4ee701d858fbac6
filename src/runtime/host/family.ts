import type { AnyAgent } from "../../agent/definition/config.ts";
import { addModelUsage, addUsage } from "../../agent/model-call.ts";
import { type ReactAgent, storedWaitingCalls, type WaitingCall, waitingCalls } from "../../agent/react/agent.ts";
import { type ChildThread, openCalls } from "../../agent/react/state.ts";
import { threadNotFound } from "../../stores/errors.ts";
import type { ThreadStore } from "../../stores/port.ts";
import { isPlainObject, type JsonObject } from "../../thread/json.ts";
import { endToParent } from "../live/children.ts";
import type { Loop } from "../loop.ts";
import { RequestError } from "../request/request-error.ts";
import { type ThreadUsage, usageOfThread } from "../server/thread-usage.ts";
import { agentOfTool } from "../tools/agent-tool.ts";

/** The threads of a host, as they are read. */
interface FamilyView {
  readonly view: (threadId: string) => Promise<{ readonly agent: ReactAgent }>;
  readonly isLive: (threadId: string) => boolean;
}

/** Answers the call of `parent` that waits for this child, if its thread has no ask: it was deleted, or the ask was withdrawn. */
export async function endLostCall(parent: Loop | undefined, { scene, agent, live }: Loop): Promise<void> {
  const { threadId, store } = scene;
  const { run } = parent?.agent.state ?? {};
  const open = run && openCalls(run).find(({ child }) => child?.threadId === threadId);
  const isThere = agent.thread.rev + live.asks.length > 0 || live.broken !== undefined;
  if (parent === undefined || open?.child === undefined || isThere) return;
  if ((await store.pending(threadId)).length > 0) return; // its ask could not be written yet
  const of = { threadId: parent.scene.threadId, callId: run?.callId ?? "", toolCallId: open.call.id };
  const { code, message } = threadNotFound(threadId);
  const ended = { requestId: open.child.requestId, options: { parent: of } };
  const [sent] = endToParent(ended, { status: "failed", failure: { code, message } });
  if (sent !== undefined) await store.post(sent.threadId, sent.command);
}

/** The waiting calls of a thread, and those of the agents that its calls ask. These name their thread. */
export async function familyWaiting(threadId: string, host: FamilyView): Promise<readonly WaitingCall[]> {
  const isLive = host.isLive(threadId);
  const { agent } = await host.view(threadId);
  const own = isLive ? waitingCalls(agent) : storedWaitingCalls(agent);
  const { run } = agent.state;
  const children = run === undefined ? [] : openCalls(run).flatMap(({ child }) => child ?? []);
  const theirs = await Promise.all(children.map((child) => childWaiting(child, host)));
  return [...own.map((call) => ({ ...call, ...(run && { requestId: run.requestId }) })), ...theirs.flat()];
}

async function childWaiting({ threadId }: ChildThread, host: FamilyView): Promise<readonly WaitingCall[]> {
  try {
    return (await familyWaiting(threadId, host)).map((call) => ({ ...call, threadId: call.threadId ?? threadId }));
  } catch (error) {
    if (RequestError.isInstance(error) && NOT_READ.has(error.code)) return [];
    throw error;
  }
}

/** The child has not begun, or another host serves its agent. */
const NOT_READ: ReadonlySet<string> = new Set(["agent_required", "unknown_agent"]);

/** The usage of a thread, with that of the agents that its calls have asked. `priced`: the agent of a thread, for its prices. */
export async function familyUsage(
  store: ThreadStore,
  threadId: string,
  priced: (threadId: string) => Promise<Partial<Pick<AnyAgent, "limits" | "tools">>>,
): Promise<ThreadUsage> {
  const agent = await priced(threadId);
  const own = await usageOfThread(store, threadId, agent);
  const asksAgents = Object.values(agent.tools ?? {}).some((tool) => agentOfTool(tool) !== undefined);
  if (!asksAgents) return own;
  const threads: string[] = [];
  for await (const { payload } of store.read(threadId, { kinds: ["tool_started"] })) {
    const { child } = payload as JsonObject; // every payload is a JSON object
    if (isPlainObject(child) && typeof child["threadId"] === "string") threads.push(child["threadId"]);
  }
  const theirs = await Promise.all(threads.map((id) => familyUsage(store, id, priced)));
  return theirs.reduce(withChild, own);
}

/** The asks of a child are calls of its parent, so they are not counted as asks. */
function withChild({ costUsd, ...sum }: ThreadUsage, child: ThreadUsage): ThreadUsage {
  const models = Object.entries(child.usageByModel);
  const isKnown = costUsd !== undefined && (child.costUsd !== undefined || models.length === 0);
  return {
    ...sum,
    usage: addUsage(sum.usage, child.usage),
    usageByModel: models.reduce((all, [model, usage]) => addModelUsage(all, model, usage), sum.usageByModel),
    ...(isKnown && { costUsd: costUsd + (child.costUsd ?? 0) }),
  };
}
