import "./thread/node-version.ts";

export {
  type ModelMessage,
  type ModelPrompt,
  toModelMessages,
  toModelPrompt,
} from "./providers/ai-sdk/model-messages.ts";
export { type AISDKOptions, toAISDKPrompt } from "./providers/ai-sdk/prompt.ts";
export type {
  AISDKAssistantPart,
  AISDKFile,
  AISDKMessage,
  AISDKProviderOptions,
  AISDKText,
  AISDKToolResult,
} from "./providers/ai-sdk/types.ts";
export type { CacheOption } from "./providers/cache.ts";
export type { ThreadChange } from "./runtime/chat/change-events.ts";
export {
  type ChatAccess,
  type ChatHandler,
  type ChatHandlerOptions,
  chatHandler,
  type ShownThread,
} from "./runtime/chat/chat-handler.ts";
export type { ChatAction } from "./runtime/chat/chat-request.ts";
export type { ThreadLoopOptions } from "./runtime/own-loop/loop-log.ts";
export { type ThreadLoop, threadLoop } from "./runtime/own-loop/thread-loop.ts";
export {
  type BusyPolicy,
  type ChatHost,
  type ChatTurn,
  type ChatTurnOptions,
  chatTurn,
  lastUserContent,
  type ResumeTurnOptions,
  resumeTurn,
} from "./runtime/ui-messages/chat-turn.ts";
export type {
  UIChatMessage,
  UIChunk,
  UIChunk6,
  UIDataChunk,
  UIFilePart,
  UIFinishReason,
  UIMessageLike,
  UIMessageMetadata,
  UIMessageOrigin,
  UIPart,
  UIProviderMetadata,
  UIReasoningPart,
  UIRequestMark,
  UISourcePart,
  UITextPart,
  UIToolPart,
  UIToolTypes,
} from "./runtime/ui-messages/message.ts";
export {
  type MessageSiblings,
  type MessageSiblingsOptions,
  messageSiblings,
} from "./runtime/ui-messages/message-tree.ts";
export type {
  RequestMetadata,
  UIClientVersion,
  UIMessageSource,
  UIMessageStreamOptions as UIStreamOptions,
  UIRequestFacts,
} from "./runtime/ui-messages/options.ts";
export {
  type ProjectionStep,
  type ProjectionStepInput,
  type ProjectionStepOptions,
  projectionStep,
} from "./runtime/ui-messages/projection-step.ts";
export {
  type UIMessageStreamResponseInit,
  uiMessageStream,
  uiMessageStreamResponse,
} from "./runtime/ui-messages/stream.ts";
export { type ToUIMessagesOptions, toUIMessages } from "./runtime/ui-messages/to-ui-messages.ts";
export { escapeHidden } from "./thread/hidden-characters.ts";
