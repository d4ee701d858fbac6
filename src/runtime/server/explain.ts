import type { AnyAgent } from "../../agent/definition/config.ts";
import { modelNames } from "../../agent/definition/language-model.ts";
import type { CallEnvironment, CallRecord } from "../../agent/model-call.ts";
import type { ReactAgent } from "../../agent/react/agent.ts";
import {
  counterFor,
  currentModel,
  heldFor,
  policyOf,
  systemPromptOf,
  toolsFor,
} from "../../agent/react/call-context.ts";
import type { ProjectionInput } from "../../projection/input/input.ts";
import type { ContextPolicyInput } from "../../projection/policy/fields.ts";
import { ContextPolicy } from "../../projection/policy/policy.ts";
import type { ExplainedEntry, ProjectionMeta } from "../../projection/projection.ts";
import type { ThreadStore } from "../../stores/port.ts";
import { readTail } from "../../stores/project-from-store.ts";
import type { ToolSpec } from "../../thread/message.ts";
import type { Thread } from "../../thread/thread.ts";
import { ignoreErrorsOf } from "../callbacks.ts";
import { callIn, callsBack } from "../calls/find-call.ts";
import { callBlob } from "../calls/rebuild-call.ts";
import type { Live } from "../live/live.ts";
import { findKnownModels, type ModelSources, setModels } from "../model/find-models.ts";
import type { ThreadOptions } from "../perform/scene.ts";
import type { RuntimePorts } from "../ports.ts";
import { loadAgent } from "../session/load.ts";
import type { ServerOptions } from "./options.ts";
import { loadCounter } from "./request-values.ts";
import { settingsFor } from "./settings.ts";

/** A thread that is live here, or was read from the store. */
export interface ViewedThread extends ModelSources {
  readonly agent: ReactAgent;
  readonly options: ModelSources["options"] & Pick<ThreadOptions, "store">;
}

/** A thread that is not live here. */
export async function readView(
  { store, resolveModel, onError }: Pick<ServerOptions<AnyAgent>, "store" | "resolveModel" | "onError">,
  threadId: string,
  definition: AnyAgent,
  ports: RuntimePorts,
): Promise<ViewedThread> {
  const agent = await loadAgent(store, threadId, await settingsFor(definition, { ports }), ports);
  const options = { definition, store, resolveModel, threadId, onError: ignoreErrorsOf(onError) };
  return { agent, options, hookLimit: { ports, timeoutMs: definition.hookTimeoutMs } };
}

/** The agent with the models of the next call: those of the open request, else those that were set. */
async function withNextModels(place: ViewedThread): Promise<ReactAgent> {
  const { agent, options } = place;
  const held = heldFor(agent);
  const choice = agent.state.run?.options.model ?? setModels(options.definition, held);
  if (choice === undefined) return agent;
  const found = await findKnownModels(place, choice).catch(() => undefined);
  const [model, ...fallbacks] = modelNames(found ?? choice);
  const exactCounter = await loadCounter(place, held.contextPolicy ?? {}, model);
  return { ...agent, settings: { ...agent.settings, model, fallbacks, ...(exactCounter && { exactCounter }) } };
}

/**
 * The status of every entry in the view of the last call: the last one of the open request, else the last one in the log.
 * Without a call, in the view of the next call. Loads the entries that this needs.
 */
export async function explain(place: ViewedThread, lastCall?: Live["lastCall"]): Promise<readonly ExplainedEntry[]> {
  const { store } = place.options;
  const call = lastCall === undefined ? await recordedView(store, place.agent) : begunView(lastCall);
  const agent = call === undefined ? await withNextModels(place) : place.agent;
  return readTail(store, (lastCall?.agent ?? agent).thread, (thread) =>
    call === undefined ? explainNext({ ...agent, thread }) : explainCall(call, agent, thread),
  );
}

/** The status of every entry in the view of the next call. The agent must have loaded enough entries. */
export function explainNext(agent: ReactAgent): readonly ExplainedEntry[] {
  return agent.settings.projector.explain(nextInput(agent));
}

/** The facts about the context of the next call. Loads the entries that this needs. */
export async function view(place: ViewedThread): Promise<ProjectionMeta> {
  const agent = await withNextModels(place);
  const { store } = place.options;
  const { projector } = agent.settings;
  return readTail(store, agent.thread, (thread) => projector.project(nextInput({ ...agent, thread })).meta);
}

function nextInput(agent: ReactAgent): ProjectionInput {
  const { settings, state, thread } = agent;
  const { readers } = settings;
  const model = currentModel(agent);
  const asked = state.run ?? state.last?.run;
  const held = heldFor(agent);
  const policy = policyOf(agent, held, asked);
  const system = systemPromptOf(agent, held);
  const tools = toolsFor(agent, asked?.options ?? {}, held);
  const tokenCounter = counterFor(policy, { ...settings, model }, thread);
  return { model, readers, thread, policy, system, tools, tokenCounter };
}

/** How a call was projected. */
interface CallView extends Pick<CallRecord, "basisLastSeq" | "lane" | "model"> {
  readonly policy: ContextPolicy;
  readonly environment: CallEnvironment;
}

function begunView({ directive: { basis, blobs } }: NonNullable<Live["lastCall"]>): CallView {
  const [policy, environment] = blobs as unknown as readonly [ContextPolicy, CallEnvironment]; // in the order of the agent
  return { ...basis, policy, environment };
}

/** The view of the newest call in the log. */
async function recordedView(store: ThreadStore, { thread }: ReactAgent): Promise<CallView | undefined> {
  const record = await lastRecord(store, thread);
  if (record === undefined) return undefined;
  const policy = (await callBlob(store, record.policy, "policy")) as ContextPolicyInput; // written by us
  const environment = (await callBlob(store, record.environment, "environment")) as unknown as CallEnvironment; // written by us
  return { ...record, policy: ContextPolicy.create(policy), environment };
}

async function lastRecord(store: ThreadStore, thread: Thread): Promise<CallRecord | undefined> {
  for (const entry of thread.toArray({ partial: true }).toReversed()) {
    const found = callIn(entry);
    if (found !== undefined) return found.record;
  }
  if (thread.firstSeq === 0) return undefined;
  for await (const { record } of callsBack(store, thread.id, { toSeq: thread.firstSeq - 1 })) return record;
  return undefined;
}

function explainCall(call: CallView, agent: ReactAgent, thread: Thread): readonly ExplainedEntry[] {
  const { settings } = agent;
  const { projector, readers } = settings;
  const { basisLastSeq, lane, policy, environment, model } = call;
  const { systemPrompt: system, tools } = environment;
  return projector.explain({
    model,
    readers,
    thread: basisLastSeq < thread.lastSeq ? thread.upTo(basisLastSeq) : thread,
    policy,
    system,
    tools: tools as unknown as readonly ToolSpec[], // written by us
    lane,
    tokenCounter: counterFor(policy, { ...settings, model }, thread),
  });
}
