import { fail } from "../../agent/definition/tool.ts";
import { copyJsonRepaired, isPlainObject } from "../../thread/json.ts";
import type { UIMessageLike, UIToolPart } from "./message.ts";

/** What somebody decided on a call that waits. */
export type Decision =
  | { readonly toolCallId: string; readonly approved: boolean; readonly reason: string | undefined }
  | { readonly toolCallId: string; readonly output: unknown };

/** What a message of a browser decides on calls that wait. It may hold anything; of other calls nothing is taken. */
export function decisionsFor(waiting: readonly UIToolPart[], { parts }: UIMessageLike): readonly Decision[] {
  const given: readonly unknown[] = Array.isArray(parts) ? parts : [];
  return waiting.flatMap((call) => {
    // Ids of calls may come again: the newest is meant.
    const part = given.findLast((one) => isPlainObject(one) && one["toolCallId"] === call.toolCallId);
    const decision = isPlainObject(part) ? decisionOn(call, part) : undefined;
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
