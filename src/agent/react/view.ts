import { ProjectionError } from "../../projection/error.ts";
import type { ContextPolicy } from "../../projection/policy/fields.ts";
import { resolvePolicy } from "../../projection/policy/resolve.ts";
import type { Projection } from "../../projection/projection.ts";
import type { JsonObject, JsonValue } from "../../thread/json.ts";
import type { Content, ToolSpec } from "../../thread/message.ts";
import { portableSha256 } from "../../thread/sha256.ts";
import type { Thread } from "../../thread/thread.ts";
import { factsOf, type TokenCounter } from "../../tokens/counter.ts";
import type { CallBasis, CallEnvironment } from "../call-record.ts";
import type { ReactAgent } from "./agent.ts";
import { counterFor } from "./counter.ts";
import type { Run } from "./run.ts";

/** The context for the next model call, and the policy and counter that it was made with. */
export interface View {
  readonly policy: ContextPolicy;
  readonly counter: TokenCounter;
  readonly projection: Projection;
}

/**
 * The policy of a run: the request's own, else the agent's. After a "too long" refusal, the room is limited by the numbers
 * of the refusal. Without numbers, it is half of the refused size or half of the room, whichever is less. The second policy
 * is the fallback when the first one does not fit: half of the room.
 */
function policiesFor({ settings, contextPolicy }: ReactAgent, run: Run): readonly [ContextPolicy, ContextPolicy?] {
  const { maxOutputTokens } = settings.call;
  const policy = resolvePolicy({
    request: run.options.contextPolicy,
    state: contextPolicy,
    definition: settings.contextPolicy,
    model: settings.model,
    ...(typeof maxOutputTokens === "number" && { maxOutputTokens }),
  });
  if (run.compactions === 0) return [policy];
  const { reserveOutputTokens, maxInputTokens } = policy;
  const half = Math.ceil((maxInputTokens - reserveOutputTokens) / 2);
  const less = Math.ceil(run.refusedTokens / 2);
  const { correctedRoom } = run;
  const within = (room: number): ContextPolicy =>
    resolvePolicy({ request: { ...policy, maxInputTokens: reserveOutputTokens + room, overflow: "shrink" } });
  if (correctedRoom !== undefined) return [within(Math.min(correctedRoom, maxInputTokens - reserveOutputTokens))];
  return less > 0 && less < half ? [within(less), within(half)] : [within(half)];
}

/** Projects the committed thread. With `pending`, `thread` is the thread before the ask. */
export function viewFor(agent: ReactAgent, run: Run, thread: Thread = agent.thread, pending?: Content): View {
  const [policy, wider] = policiesFor(agent, run);
  try {
    return viewBy(policy, agent, run, thread, pending);
  } catch (error) {
    if (wider === undefined || !ProjectionError.isInstance(error) || error.code !== "budget_overflow") throw error;
    return viewBy(wider, agent, run, thread, pending);
  }
}

function viewBy(
  policy: ContextPolicy,
  agent: ReactAgent,
  run: Run,
  thread: Thread,
  pending: Content | undefined,
): View {
  const { settings } = agent;
  const counter = counterFor(policy, settings, agent.thread);
  const projection = settings.projector.project({
    thread,
    pending: pending === undefined ? undefined : { role: "user", content: pending },
    policy,
    tokenCounter: counter,
    system: systemPromptOf(agent),
    tools: toolsFor(agent, run),
    lane: run.lane,
    model: settings.model,
    readers: settings.readers,
  });
  return { policy, counter, projection };
}

export function toolsFor({ settings: { tools } }: ReactAgent, { options: { allowedTools } }: Run): readonly ToolSpec[] {
  return allowedTools === undefined ? tools : tools.filter(({ name }) => allowedTools.includes(name));
}

function systemPromptOf({ settings, flight }: ReactAgent): string | undefined {
  return flight.systemPrompt ?? settings.systemPrompt;
}

/** The record of a call's inputs, and the blobs that it names. */
export function basisOf(
  agent: ReactAgent,
  view: View,
): { readonly basis: CallBasis; readonly blobs: readonly JsonValue[] } {
  const { settings } = agent;
  const { policy, counter } = view;
  const { meta, toolSpec } = view.projection;
  const systemPrompt = systemPromptOf(agent);
  const environment: CallEnvironment = {
    ...(systemPrompt !== undefined && { systemPrompt }),
    tools: toolSpec as unknown as readonly JsonObject[], // specs are JSON
    settings: settings.call,
  };
  const { id, version, factor } = factsOf(counter);
  const basis: CallBasis = {
    ...(settings.model !== undefined && { model: settings.model }),
    basisRev: meta.basisRev,
    basisLastSeq: meta.basisLastSeq,
    lane: meta.lane,
    policy: hashOf(policy as unknown as JsonValue),
    environment: hashOf(environment),
    fingerprint: meta.fingerprint,
    projector: meta.projector,
    counter: { id, version },
    calibration: factor,
    view: meta.view,
    estimatedTokens: meta.estimatedTokens,
  };
  return { basis, blobs: [policy as unknown as JsonValue, environment] };
}

/** The hash under which a store keeps a JSON blob. */
function hashOf(blob: JsonValue): string {
  return portableSha256(JSON.stringify(blob));
}
