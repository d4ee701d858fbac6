import type { AnyTool, ChildAsk } from "../../agent/definition/tool.ts";
import type { ToolExec } from "../../agent/directive.ts";
import type { Run } from "../../agent/react/state.ts";
import type { ParentCall, RequestLimits, Signal, StoredRequestOptions, ToolOutcome } from "../../agent/signal.ts";
import { portableSha256 } from "../../thread/encoding.ts";
import type { JsonObject } from "../../thread/json.ts";
import { retryStore } from "../session/store-retry.ts";
import { agentOfTool } from "../tools/agent-tool.ts";
import { errorAnswer } from "../tools/outcome.ts";
import { spentOf } from "./check-exchange.ts";
import type { Scene } from "./scene.ts";

type Limits = NonNullable<Scene["definition"]["limits"]>;
type Delegated = Extract<Signal, { readonly type: "delegated" }>;

/** The ask of a call that another agent answers, as the next signal. Or the result of a call that cannot ask. */
export async function delegate(
  scene: Scene,
  { call, callId }: ToolExec,
  tool: AnyTool | undefined,
  { agent, content }: ChildAsk,
  signal: AbortSignal,
): Promise<{ readonly signal: Delegated } | ToolOutcome> {
  const { run } = scene.agent().state;
  if (!scene.asksAgents || run === undefined) {
    const message = `The tool ${call.name} asks another agent, which needs an AgentHost. A server or a run alone starts no other thread.`;
    return errorAnswer({ code: "agent_tool_needs_host", message });
  }
  const { maxTokens, maxCostUsd } = { ...scene.definition.limits, ...run.options.limits };
  const own = agentOfTool(tool)?.limits ?? {};
  // Without its prices the agent could spend any amount. A handoff to it fails in the same way.
  if (maxCostUsd !== undefined && own.costUsd === undefined) {
    const message = `The agent ${agent} was not asked: the request has maxCostUsd, so this agent needs limits.costUsd too. Give it costUsd.`;
    return errorAnswer({ code: "invalid_options", message });
  }
  const parent: ParentCall = {
    threadId: scene.threadId,
    callId,
    toolCallId: call.id,
    ...(await ownerOf(scene)),
  };
  const limits = await limitsLeft(scene, run, { own, maxTokens, maxCostUsd }, signal);
  const { deadline, traceparent, hasContext } = run.options;
  const options: StoredRequestOptions = {
    ...(hasContext && { hasContext }),
    ...(limits && { limits }),
    ...(deadline !== undefined && { deadline }),
    ...(traceparent !== undefined && { traceparent }),
    parent,
  };
  const refs = { ...run.refs, parentThreadId: scene.threadId, parentCallId: call.id };
  const threadId = childThreadId(parent);
  const ask = { content, refs, options } as JsonObject; // an ask is JSON
  const child = { threadId, requestId: threadId, agent, ask };
  return { signal: { type: "delegated", callId, toolCallId: call.id, child, ...scene.worked() } };
}

/** The thread of a call's child. It follows from the call, so a call that is repeated asks on the same thread. */
function childThreadId({ threadId, callId, toolCallId }: ParentCall): string {
  return `child_${portableSha256(JSON.stringify([threadId, callId, toolCallId])).slice(0, 40)}`;
}

/** A child belongs to the owner of its parent. */
async function ownerOf({ store, ports, threadId }: Scene): Promise<{ readonly owner?: string }> {
  const { threads } = await retryStore(ports, () => store.list({ prefix: threadId, order: "id", limit: 1 }));
  const owner = threads.find(({ id }) => id === threadId)?.owner;
  return owner === undefined ? {} : { owner };
}

/** The rest of the limits of the request, and of those of the agent that is asked. */
async function limitsLeft(
  scene: Scene,
  { usage, usageByModel }: Run,
  { own, maxTokens, maxCostUsd }: Limits & { readonly own: Limits },
  signal: AbortSignal,
): Promise<RequestLimits | undefined> {
  const { inputTokens = 0, outputTokens = 0 } = usage;
  const tokens = smallest(
    own.maxTokens,
    maxTokens === undefined ? undefined : maxTokens - inputTokens - outputTokens,
    1,
  );
  const spent = maxCostUsd === undefined ? undefined : await spentOf(scene, usageByModel, signal);
  const left = maxCostUsd === undefined || spent === undefined ? undefined : maxCostUsd - spent;
  const cost = smallest(own.maxCostUsd, left, Number.MIN_VALUE);
  const limits = {
    ...(tokens !== undefined && { maxTokens: tokens }),
    ...(cost !== undefined && { maxCostUsd: cost }),
  };
  return Object.keys(limits).length === 0 ? undefined : limits;
}

/** The smaller of two limits, and not less than the least one that an ask may have. */
function smallest(a: number | undefined, b: number | undefined, least: number): number | undefined {
  const known = [a, b].filter((limit) => limit !== undefined);
  return known.length === 0 ? undefined : Math.max(least, Math.min(...known));
}
