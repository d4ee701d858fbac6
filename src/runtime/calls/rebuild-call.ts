import type { CallRecord } from "../../agent/model-call.ts";
import { fingerprintOf } from "../../projection/engine/fingerprint.ts";
import type { ThreadStore } from "../../stores/port.ts";
import type { JsonObject } from "../../thread/json.ts";
import type { Message, ToolSpec } from "../../thread/message.ts";
import { refuseUnknownOptions } from "../../thread/options.ts";
import { CallError, findCall } from "./find-call.ts";
import { type RebuildOptions, renderCall, sentChanges } from "./render-call.ts";

export type { RebuildOptions } from "./render-call.ts";

/** What a past model call was sent, proven to be it. */
export interface RebuiltCall {
  readonly callId: string;
  readonly messages: readonly Message[];
  readonly toolSpec: readonly ToolSpec[];
  /** maxOutputTokens, temperature, toolChoice and what else went to the model. */
  readonly settings: JsonObject;
  /** What was recorded with the call, its usage included. */
  readonly record: CallRecord;
  readonly fingerprint: string;
  readonly proven: true;
}

/**
 * The exact messages and tool specs that a past model call was sent. They are made again from the log and the blobs that
 * the call names, and compared with the fingerprint that was recorded; what cannot be proven is a CallError that says what
 * is missing or differs.
 *
 * @example
 * const server = await AgentServer.start({ agent: defineAgent({ model: scriptedModel(["4"]) }), store });
 * const { result } = await server.ask("What's 2+2?");
 * const [call] = (await result).calls;
 * const { messages } = await rebuildCall(store, server.threadId, call.callId); // [{ role: "user", content: "What's 2+2?" }]
 */
export async function rebuildCall(
  store: ThreadStore,
  threadId: string,
  callId: string,
  options: RebuildOptions = {},
): Promise<RebuiltCall> {
  refuseUnknownOptions("rebuildCall", options, { readers: true, tokenCounter: true });
  const { record } = await findCall(store, threadId, callId);
  const shown = await shownIn(store, threadId, record, options);
  const fingerprint = fingerprintOf(shown.toolSpec, shown.messages);
  if (fingerprint === record.fingerprint) return Object.freeze({ callId, ...shown, record, fingerprint, proven: true });
  const message =
    `Call ${callId} comes out otherwise than it was sent: its fingerprint is ${fingerprint}, and ${record.fingerprint} was ` +
    "recorded. Pass the readers and the token counter that the agent had; if it had none, the log was changed: verify it.";
  throw new CallError({ code: "call_not_proven", callId, message });
}

interface Shown {
  readonly messages: readonly Message[];
  readonly toolSpec: readonly ToolSpec[];
  readonly settings: JsonObject;
}

async function shownIn(
  store: ThreadStore,
  threadId: string,
  record: CallRecord,
  options: RebuildOptions,
): Promise<Shown> {
  const changes = record.sent === undefined ? {} : await sentChanges(store, record.sent);
  const { messages, tools, settings } = changes;
  if (messages !== undefined && tools !== undefined && settings !== undefined) {
    return { messages, toolSpec: tools, settings }; // nothing is left to project
  }
  const shown = await projected(store, threadId, record, options);
  return {
    messages: messages ?? shown.messages,
    toolSpec: tools ?? shown.toolSpec,
    settings: settings ?? shown.settings,
  };
}

async function projected(
  store: ThreadStore,
  threadId: string,
  record: CallRecord,
  options: RebuildOptions,
): Promise<Shown> {
  const { projection, environment } = await renderCall(store, threadId, record, options);
  const { messages, toolSpec } = projection;
  return { messages, toolSpec, settings: environment.settings };
}
