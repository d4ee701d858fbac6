import type { CallEnvironment, CallRecord } from "../../agent/model-call.ts";
import { fingerprintOf } from "../../projection/engine/fingerprint.ts";
import type { ContextPolicyInput } from "../../projection/policy/fields.ts";
import type { ExplainedEntry, Projection } from "../../projection/projection.ts";
import { createProjector } from "../../projection/projector.ts";
import { isProjectorName } from "../../projection/rules.ts";
import type { Readers } from "../../projection/transcript/entry-reader.ts";
import { threadNotFound } from "../../stores/errors.ts";
import type { ThreadStore } from "../../stores/port.ts";
import { readTail } from "../../stores/project-from-store.ts";
import type { Entry } from "../../thread/entry.ts";
import type { JsonObject, JsonValue } from "../../thread/json.ts";
import type { Message, ToolSpec } from "../../thread/message.ts";
import { refuseUnknownOptions } from "../../thread/options.ts";
import type { Thread } from "../../thread/thread.ts";
import { calibrated } from "../../tokens/calibrate.ts";
import { factsOf, heuristic, type TokenCounter } from "../../tokens/counter.ts";
import { CallError, findCall, settingsOf } from "./find-call.ts";

/** The request of a past model call, proven by its fingerprint. */
export interface RebuiltCall {
  readonly callId: string;
  readonly messages: readonly Message[];
  readonly toolSpec: readonly ToolSpec[];
  /** The settings of the call, such as maxOutputTokens, temperature and toolChoice. */
  readonly settings: JsonObject;
  /** The record of the call in the log, with its usage. */
  readonly record: CallRecord;
  /** The settings that held, as entries: each says what was set, by whom and why. */
  readonly heldSettings: readonly Entry[];
  readonly fingerprint: string;
  readonly proven: true;
}

/**
 * Rebuilds the exact messages and tool specs of a past model call, from the log and the blobs that the call names. They are
 * compared with the recorded fingerprint. If they differ or something is missing, it throws a CallError with the reason.
 *
 * @example
 * const server = await AgentServer.start({ agent: defineAgent({ model: scriptedModel(["4"]) }), store });
 * const { result } = await server.ask("What's 2+2?");
 * const [call] = (await result).calls;
 * const { messages } = await rebuildCall(store, server.threadId, call?.callId ?? "");
 * console.log(messages); // [ { role: 'user', content: "What's 2+2?" } ]
 * await server.stop();
 */
export async function rebuildCall(
  store: ThreadStore,
  threadId: string,
  callId: string,
  options: RebuildOptions = {},
): Promise<RebuiltCall> {
  refuseUnknownOptions("rebuildCall", options, { readers: true, tokenCounter: true });
  const { record } = await findCall(store, threadId, callId);
  const rebuilt = await requestOf(store, threadId, record, options);
  const fingerprint = fingerprintOf(rebuilt.toolSpec, rebuilt.messages);
  if (fingerprint === record.fingerprint) {
    const heldSettings = await settingsOf(store, threadId, record);
    return Object.freeze({ callId, ...rebuilt, record, heldSettings, fingerprint, proven: true });
  }
  const message =
    `The rebuilt call ${callId} differs from the one that was sent: its fingerprint is ${fingerprint}, and the recorded one ` +
    `${record.fingerprint}. Pass the readers and the token counter of the agent. If it had none, the log was changed: verify it.`;
  throw new CallError({ code: "call_not_proven", callId, message });
}

interface CallRequest {
  readonly messages: readonly Message[];
  readonly toolSpec: readonly ToolSpec[];
  readonly settings: JsonObject;
}

async function requestOf(
  store: ThreadStore,
  threadId: string,
  record: CallRecord,
  options: RebuildOptions,
): Promise<CallRequest> {
  const changes = record.sent === undefined ? {} : await sentChanges(store, record.sent);
  const { messages, tools, settings } = changes;
  if (messages !== undefined && tools !== undefined && settings !== undefined) {
    return { messages, toolSpec: tools, settings }; // needs no projection
  }
  const rebuilt = await projectCall(store, threadId, record, options);
  return {
    messages: messages ?? rebuilt.messages,
    toolSpec: tools ?? rebuilt.toolSpec,
    settings: settings ?? rebuilt.settings,
  };
}

async function projectCall(
  store: ThreadStore,
  threadId: string,
  record: CallRecord,
  options: RebuildOptions,
): Promise<CallRequest> {
  const { projection, environment } = await renderCall(store, threadId, record, options);
  const { messages, toolSpec } = projection;
  return { messages, toolSpec, settings: environment.settings };
}

/** The parts of the agent that are not in the log. */
export interface RebuildOptions {
  /** The readers of the agent. Default: none. */
  readonly readers?: Readers | undefined;
  /** The token counter of the agent. Needed if it was a custom or an exact one. Default `heuristic`. */
  readonly tokenCounter?: TokenCounter | undefined;
}

/** A past call, projected again, with the policy and the environment of its record. */
export interface RenderedCall {
  readonly projection: Projection;
  readonly explain: () => readonly ExplainedEntry[];
  readonly policy: ContextPolicyInput;
  readonly environment: CallEnvironment;
}

/** How many entries the first load reads. */
const FIRST = 200;

/** Projects the log up to the call, with the policy and the environment of its record. */
export async function renderCall(
  store: ThreadStore,
  threadId: string,
  record: CallRecord,
  options: RebuildOptions,
): Promise<RenderedCall> {
  const { projector: rules } = record;
  if (!isProjectorName(rules)) {
    const message = `The call was projected by ${rules}, which this version of heddle does not have. Update heddle.`;
    throw new CallError({ code: "projector_unknown", message });
  }
  const policy = (await callBlob(store, record.policy, "policy")) as ContextPolicyInput; // the runtime wrote it
  const environment = (await callBlob(store, record.environment, "environment")) as unknown as CallEnvironment; // the runtime wrote it
  const { systemPrompt, tools } = environment;
  const input = {
    policy,
    tokenCounter: counterOf(record, options.tokenCounter),
    system: systemPrompt,
    tools: tools as unknown as readonly ToolSpec[], // the runtime wrote them
    lane: record.lane,
    model: record.model,
    readers: options.readers,
    rules,
  };
  const projector = createProjector({ keep: 1 });
  return readTail(store, await loaded(store, threadId, record.basisLastSeq), (thread) => {
    const projection = projector.project({ ...input, thread });
    return { projection, policy, environment, explain: () => projector.explain({ ...input, thread }) };
  });
}

async function loaded(store: ThreadStore, threadId: string, upToSeq: number): Promise<Thread> {
  const thread = await store.load(threadId, { last: FIRST, upToSeq });
  if (thread === undefined) throw threadNotFound(threadId);
  return thread;
}

/** The counter that the call was counted with. */
function counterOf({ counter, calibration }: CallRecord, given: TokenCounter | undefined): TokenCounter {
  const base = given ?? heuristic;
  const same = [base, calibrated(base, calibration)].find((one) => {
    const { id, version } = factsOf(one);
    return id === counter.id && version === counter.version;
  });
  if (same !== undefined) return same;
  const message = `The call was counted by ${counter.id}, version ${counter.version}. Pass that tokenCounter.`;
  throw new CallError({ code: "counter_missing", message });
}

/** The JSON of a blob that the record of a call names. */
export async function callBlob(store: ThreadStore, hash: string, what: string): Promise<JsonValue> {
  const found = await store.getBlob(hash);
  if (found !== undefined && !(found instanceof Uint8Array)) return found;
  throw new CallError({
    code: "call_blob_missing",
    message: `The ${what} of the call, blob ${hash}, is not in this store.`,
  });
}

/** The changes by `transformRequest`. Earlier versions recorded all three fields. */
export interface SentChanges {
  readonly messages?: Projection["messages"];
  readonly tools?: readonly ToolSpec[];
  readonly settings?: JsonObject;
}

export async function sentChanges(store: ThreadStore, hash: string): Promise<SentChanges> {
  return (await callBlob(store, hash, "changes of transformRequest")) as unknown as SentChanges; // the runtime wrote it
}
