import { isPlainObject, type JsonObject, type JsonValue } from "../json.ts";
import type { Message, PartMetadata, ToolApproval, ToolCall } from "../message.ts";
import type { Field } from "./field.ts";

// Approvals of the AI SDK. In useChat they are in the part of their call. Model messages have a request beside the call and
// a response in a later message.

/** Decisions by the id of the approval. */
export type ApprovalDecisions = ReadonlyMap<string, Pick<ToolApproval, "approved" | "reason">>;

export function readApproval(value: JsonValue | undefined): { readonly approval?: ToolApproval } {
  const isApproval = isPlainObject(value) && typeof value["id"] === "string";
  return isApproval ? { approval: value as ToolApproval } : {};
}

/** The decisions in a list of model messages. */
export function readDecisions(messages: readonly Field[]): ApprovalDecisions {
  const decisions = new Map<string, Pick<ToolApproval, "approved" | "reason">>();
  for (const message of messages) {
    const content = isPlainObject(message.value) ? (message.value as JsonObject)["content"] : undefined;
    for (const part of Array.isArray(content) ? (content as readonly JsonValue[]) : []) {
      if (!isPlainObject(part) || part["type"] !== "tool-approval-response") continue;
      const { approvalId, approved, reason } = part as JsonObject;
      if (typeof approvalId !== "string" || typeof approved !== "boolean") continue;
      decisions.set(approvalId, { approved, ...(typeof reason === "string" && { reason }) });
    }
  }
  return decisions;
}

/** The approval of a `tool-approval-request`. The reason of the request is not the reason of the decision. */
export function requestedApproval(part: Field, decisions: ApprovalDecisions): ToolApproval {
  const { type: _type, toolCallId: _toolCallId, approvalId, reason, ...more } = part.object;
  const id = String(approvalId);
  const requestReason = reason === undefined ? {} : { requestReason: reason };
  return { ...more, ...requestReason, id, ...decisions.get(id) };
}

export function writeApprovalRequest({ id: toolCallId, approval }: ToolCall): readonly object[] {
  if (approval === undefined) return [];
  const { id: approvalId, approved: _approved, reason: _reason, requestReason: reason, ...more } = approval;
  return [{ type: "tool-approval-request", approvalId, toolCallId, reason, ...more }];
}

export function writeApprovalResponse({ approval }: ToolCall): readonly object[] {
  if (approval?.approved === undefined) return [];
  const { id: approvalId, approved, reason } = approval;
  return [{ type: "tool-approval-response", approvalId, approved, reason }];
}

/** Marks the synthetic result of a call that was approved and has not run yet. */
export function approvalMetadata(approval: ToolApproval): PartMetadata {
  return { heddle: { approval } };
}

/** The approval in a synthetic result made with `approvalMetadata`. */
export function approvalFromMetadata(message: Message): ToolApproval | undefined {
  const approval = message.role === "tool" ? message.metadata?.["heddle"]?.["approval"] : undefined;
  return readApproval(approval).approval;
}
