import type { Projection, Provenance } from "../../projection/projection.ts";
import { fingerprintOf } from "../../projection/run/chain.ts";
import { CallError } from "../../runtime/calls/call-error.ts";
import type { FoundCall } from "../../runtime/calls/find-call.ts";
import { renderCall, sentChanges } from "../../runtime/calls/render-call.ts";
import type { Message } from "../../thread/message.ts";
import type { ShownCall, Trouble } from "../contract/call.ts";
import type { Studio } from "../studio.ts";

export async function shownCall(studio: Studio, threadId: string, { callId, record }: FoundCall): Promise<ShownCall> {
  const { readers, exactCounter: tokenCounter } = await studio.settings;
  try {
    const rendered = await renderCall(studio.store, threadId, record, { readers, tokenCounter });
    const { projection, policy, environment } = rendered;
    const sent = record.sent === undefined ? undefined : await sentChanges(studio.store, record.sent);
    const messages = sent?.messages ?? projection.messages;
    const toolSpec = sent?.tools ?? projection.toolSpec;
    const fingerprint = fingerprintOf(toolSpec, messages);
    const proven = fingerprint === record.fingerprint;
    return {
      callId,
      record,
      messages,
      toolSpec,
      settings: sent?.settings ?? environment.settings,
      provenance: sent === undefined ? projection.provenance : matched(messages, projection),
      meta: projection.meta,
      explained: rendered.explain(),
      policy,
      environment,
      transformed: sent !== undefined,
      proven,
      ...(!proven && { problem: unproven(callId) }),
    };
  } catch (error) {
    if (!CallError.isInstance(error)) throw error;
    const { code, message } = error;
    const nothing = { messages: [], toolSpec: [], settings: {}, provenance: [], explained: [], transformed: false };
    return { callId, record, ...nothing, proven: false, problem: { code, message } };
  }
}

/** The provenance of messages that a transformer left unchanged. Other messages get one without entries. */
function matched(messages: readonly Message[], projection: Projection): readonly Provenance[] {
  const left = new Map(
    projection.messages.map((message, index) => [JSON.stringify(message), projection.provenance[index]]),
  );
  return messages.map((message) => {
    const segment = message.role === "system" ? ("system" as const) : ("history" as const);
    return left.get(JSON.stringify(message)) ?? { segment, seqs: [], tokens: 0 };
  });
}

function unproven(callId: string): Trouble {
  const message = `Call ${callId} differs from what was sent. The log was changed, or a reader is missing. Check the log: heddle verify.`;
  return { code: "call_not_proven", message };
}
