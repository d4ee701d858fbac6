import type { UIFilePart, UITextPart } from "./message.ts";

// The shapes of UIMessageChunk of the AI SDK as plain data; the tests compare them with the real ones.

/** Why a UI message ended. */
export type UIFinishReason = "stop" | "length" | "content-filter" | "tool-calls" | "error" | "interrupted" | "other";

/** A part of your own, beside those of the agent. */
export type UIDataChunk = { type: `data-${string}`; id?: string; data: unknown; transient?: boolean };

/** One piece of a stream that `useChat` reads. */
export type UIChunk =
  | { type: "start"; messageId: string }
  | { type: "start-step" }
  | { type: "text-start" | "text-end"; id: string }
  | { type: "text-delta"; id: string; delta: string }
  | { type: "reasoning-start" | "reasoning-end"; id: string }
  | { type: "reasoning-delta"; id: string; delta: string }
  | { type: "tool-input-start"; toolCallId: string; toolName: string }
  | { type: "tool-input-delta"; toolCallId: string; inputTextDelta: string }
  | { type: "tool-input-available"; toolCallId: string; toolName: string; input: unknown }
  /** For AI SDK 6 only: what was begun of a call is taken back. */
  | { type: "tool-input-error"; toolCallId: string; toolName: string; input: unknown; errorText: string }
  | { type: "tool-approval-request"; approvalId: string; toolCallId: string }
  | { type: "tool-approval-response"; approvalId: string; approved: boolean; reason?: string }
  | { type: "tool-output-available"; toolCallId: string; output: unknown }
  | { type: "tool-output-error"; toolCallId: string; errorText: string }
  | { type: "tool-output-denied"; toolCallId: string }
  | { type: "steering-message"; id: string; parts: (UITextPart | UIFilePart)[] }
  | { type: "reset-step" }
  | { type: "finish-step" }
  | { type: "message-metadata"; messageMetadata: unknown }
  | { type: "error"; errorText: string }
  | { type: "abort"; reason?: string }
  | { type: "finish"; finishReason: UIFinishReason }
  | UIDataChunk;

/** One piece of a stream that `useChat` of AI SDK 6 reads: it knows fewer. */
export type UIChunk6 =
  | Exclude<UIChunk, { type: "tool-approval-response" | "steering-message" | "reset-step" | "finish" }>
  | { type: "finish"; finishReason: Exclude<UIFinishReason, "interrupted"> };
