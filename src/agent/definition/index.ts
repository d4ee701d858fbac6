export type { Agent, AgentContext, AgentOutput, AnyAgent, ContextFor, OutputOf } from "./agent.ts";
export { AgentError } from "./agent-error.ts";
export type * from "./config.ts";
export { defineAgent, isAgent } from "./define-agent.ts";
export type { DownloadFunction, DownloadLimits, DownloadRequest, DownloadResult } from "./download.ts";
export type { LanguageModel, ModelCallOptions, ModelResult, ModelStream } from "./language-model.ts";
export {
  type InputOf,
  type InputSchema,
  type JsonSchema,
  jsonSchema,
  type PlainJsonSchema,
  type StandardResult,
  type StandardSchema,
  type Validation,
} from "./schema.ts";
export { type CompletedCall, type CompletedExchange, hasToolCall, type StopCondition } from "./stop-when.ts";
export {
  type AnyTool,
  type ApprovalOptions,
  type Tool,
  type ToolInput,
  type ToolOptions,
  type ToolOutput,
  type Tools,
  tool,
} from "./tool.ts";
export { ToolError } from "./tool-error.ts";
export { content, fail, ok, type ToolResult, type ToolResultPart } from "./tool-result.ts";
