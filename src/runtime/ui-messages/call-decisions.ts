import { fail } from "../../agent/definition/tool.ts";
import { copyJsonRepaired, isPlainObject, type JsonValue, sameJson } from "../../thread/json.ts";
import type { Thread } from "../../thread/thread.ts";
import type { UIChatMessage, UIMessageLike, UIToolPart } from "./message.ts";
import { toUIMessages } from "./to-ui-messages.ts";

/** The calls of the request that are not decided yet. */
export function waitingCalls(thread: Thread, requestId: string): readonly UIToolPart[] {
  const message = toUIMessages(thread, { partial: true }).findLast(
    ({ id, role }) => role === "assistant" && id === requestId,
  );
  const step = message?.parts.slice(message.parts.findLastIndex(({ type }) => type === "step-start")) ?? [];
  return step.flatMap((part) => ("toolCallId" in part && !part.providerExecuted ? [part] : []));
}

/** A decision of the user on a waiting call. */
type Decision =
  | { readonly toolCallId: string; readonly approved: boolean; readonly reason: string | undefined }
  | { readonly toolCallId: string; readonly output: unknown };

/** The decisions on waiting calls in a message of a browser, which may hold anything. Parts of other calls are ignored. */
export function decisionsFor(waiting: readonly UIToolPart[], { parts }: UIMessageLike): readonly Decision[] {
  const received = partsOf(parts);
  return waiting.flatMap((call) => {
    // Several calls may have one id: the newest is meant.
    const part = received.findLast(({ toolCallId }) => toolCallId === call.toolCallId);
    const decision = part && decisionOn(call, part);
    return decision === undefined ? [] : [decision];
  });
}

function decisionOn(call: UIToolPart, part: { readonly [key: string]: unknown }): Decision | undefined {
  const { toolCallId } = call;
  const { state, approval, output, errorText } = part;
  if (call.state === "approval-requested") {
    if (!isPlainObject(approval) || approval["id"] !== call.approval.id) return undefined;
    const { approved, reason } = approval;
    if (typeof approved !== "boolean") return undefined;
    return { toolCallId, approved, reason: typeof reason === "string" ? reason : undefined };
  }
  if (call.state !== "input-available") return undefined;
  if (state === "output-available" && output !== undefined) {
    return { toolCallId, output: copyJsonRepaired(output, "output") }; // checked while it is copied
  }
  if (state !== "output-error" || typeof errorText !== "string") return undefined;
  return { toolCallId, output: fail({ type: "tool_failed", message: errorText.toWellFormed() }) };
}

/**
 * Whether a message of a browser has the calls of this answer, with the same results. One that ends with an empty step was
 * streamed before, and a page that posts it again would not stop.
 */
export function isShownAnswer(answer: UIChatMessage, { parts }: UIMessageLike): boolean {
  const received = partsOf(parts);
  const known = callFacts(answer.parts);
  const isKnown = (one: JsonValue): boolean => known.some((other) => sameJson(one, other));
  return received.at(-1)?.["type"] !== "step-start" && callFacts(received).every(isKnown);
}

function callFacts(parts: readonly { readonly [key: string]: unknown }[]): readonly JsonValue[] {
  return parts.flatMap(({ toolCallId, state = null, output = null }) =>
    toolCallId === undefined ? [] : [copyJsonRepaired([toolCallId, state, output], "parts")],
  );
}

function partsOf(parts: unknown): readonly { readonly [key: string]: unknown }[] {
  return Array.isArray(parts) ? parts.filter(isPlainObject) : [];
}
