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
export { ProviderError } from "./providers/error.ts";
export type { ProviderApi } from "./providers/message-parts.ts";
export { RULES, type Rule, type RuleId } from "./providers/rules.ts";
export { type Violation, validateMessages } from "./providers/validate.ts";
export {
  type AnthropicBlock,
  type AnthropicBody,
  type AnthropicFile,
  type AnthropicMessage,
  type AnthropicOptions,
  type AnthropicText,
  type AnthropicThinking,
  type AnthropicTool,
  type AnthropicToolResult,
  type AnthropicToolUse,
  toAnthropic,
} from "./providers/wire/anthropic.ts";
export {
  type GeminiBody,
  type GeminiContent,
  type GeminiFile,
  type GeminiOptions,
  type GeminiPart,
  toGemini,
} from "./providers/wire/gemini.ts";
export {
  type OpenAIChatBody,
  type OpenAIChatMessage,
  type OpenAIChatPart,
  toOpenAIChat,
} from "./providers/wire/openai-chat.ts";
export {
  type OpenAIResponsesBody,
  type OpenAIResponsesItem,
  type OpenAIResponsesPart,
  toOpenAIResponses,
} from "./providers/wire/openai-responses.ts";
