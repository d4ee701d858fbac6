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
export {
  type ChatHost,
  type ChatTurn,
  type ChatTurnOptions,
  chatTurn,
  resumeTurn,
} from "./runtime/ui-messages/chat-turn.ts";
export type { UIChunk, UIChunk6, UIDataChunk, UIFinishReason } from "./runtime/ui-messages/chunk.ts";
export { lastUserContent } from "./runtime/ui-messages/last-user-content.ts";
export type {
  UIChatMessage,
  UIFilePart,
  UIMessageLike,
  UIMessageMetadata,
  UIPart,
  UIProviderMetadata,
  UIReasoningPart,
  UIRequestMark,
  UISourcePart,
  UITextPart,
  UIToolPart,
} from "./runtime/ui-messages/message.ts";
export type {
  UIClientVersion,
  UIMessageSource,
  UIMessageStreamOptions as UIStreamOptions,
} from "./runtime/ui-messages/options.ts";
export {
  type ProjectionStep,
  type ProjectionStepInput,
  type ProjectionStepOptions,
  projectionStep,
} from "./runtime/ui-messages/projection-step.ts";
export { type UIMessageStreamResponseInit, uiMessageStreamResponse } from "./runtime/ui-messages/response.ts";
export { uiMessageStream } from "./runtime/ui-messages/stream.ts";
export { type ToUIMessagesOptions, toUIMessages } from "./runtime/ui-messages/to-ui-messages.ts";
