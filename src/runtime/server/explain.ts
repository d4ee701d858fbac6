import type { CallEnvironment } from "../../agent/model-call.ts";
import type { ReactAgent } from "../../agent/react/agent.ts";
import { counterFor, toolsFor } from "../../agent/react/call-context.ts";
import { ContextPolicy } from "../../projection/policy/policy.ts";
import type { ExplainedEntry } from "../../projection/projection.ts";
import type { ToolSpec } from "../../thread/message.ts";
import type { Live } from "../live/live.ts";

/** What became of every entry in the view of the last call; before the first, in the view that one would have. */
export function explain({ lastCall, agent }: Pick<Live, "lastCall" | "agent">): readonly ExplainedEntry[] {
  return lastCall === undefined ? explainNext(agent) : explainCall(lastCall, agent);
}

function explainNext(agent: ReactAgent): readonly ExplainedEntry[] {
  const { settings, state, thread, contextPolicy } = agent;
  const { projector, model, readers, systemPrompt: system, contextPolicy: definition } = settings;
  const asked = state.run ?? state.last?.run;
  const policy = ContextPolicy.resolve({
    request: asked?.options.contextPolicy,
    state: contextPolicy,
    definition,
    model,
  });
  const tools = asked === undefined ? settings.tools : toolsFor(agent, asked);
  const tokenCounter = counterFor(policy, settings, thread);
  return projector.explain({ model, readers, thread, policy, system, tools, tokenCounter });
}

function explainCall(
  { directive, agent }: NonNullable<Live["lastCall"]>,
  { settings }: ReactAgent,
): readonly ExplainedEntry[] {
  const { projector, model, readers } = settings;
  const { basis, blobs } = directive;
  const policy = blobs[0] as unknown as ContextPolicy; // as the agent puts them
  const { systemPrompt: system, tools } = blobs[1] as unknown as CallEnvironment;
  const { thread } = agent;
  return projector.explain({
    model,
    readers,
    thread: basis.basisLastSeq < thread.lastSeq ? thread.upTo(basis.basisLastSeq) : thread,
    policy,
    system,
    tools: tools as unknown as readonly ToolSpec[],
    lane: basis.lane,
    tokenCounter: counterFor(policy, agent.settings, thread),
  });
}
