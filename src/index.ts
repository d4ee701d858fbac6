import "./thread/node-version.ts";

export type {
  AgentConfig,
  AgentContext,
  AgentDefinition,
  AnyAgent,
  InferOutput,
  Summarizer,
  ToolsContext,
} from "./agent/definition/config.ts";
export { defineAgent } from "./agent/definition/define-agent.ts";
export { AgentError, ToolError } from "./agent/definition/errors.ts";
export type { ProviderModel } from "./agent/definition/language-model.ts";
export { type InputSchema, jsonSchema } from "./agent/definition/schema.ts";
export { hasToolCall, type StopWhenCondition } from "./agent/definition/stop-when.ts";
export {
  type AnyTool,
  content,
  defineTool,
  fail,
  ok,
  suspend,
  type Tool as TypedTool,
  type ToolOptions,
  type Tools,
} from "./agent/definition/tool.ts";
export type { AgentEvent } from "./agent/event.ts";
export type { Usage } from "./agent/model-call.ts";
export type { Failure } from "./agent/signal.ts";
export type { TokenConfig } from "./checkpoint/config.ts";
export { TokenError } from "./checkpoint/error.ts";
export { resumeTokens } from "./checkpoint/resume-tokens.ts";
export { type BranchOptions, branch } from "./lanes/branch.ts";
export { ContextOpError, type ContextOperation } from "./lanes/context-operation.ts";
export { PolicyError, ProjectionError } from "./projection/error.ts";
export type { ProjectionInput } from "./projection/input/input.ts";
export type { ContextPolicyInput } from "./projection/policy/fields.ts";
export { ContextPolicy } from "./projection/policy/policy.ts";
export type { ExplainedEntry, Projection } from "./projection/projection.ts";
export { createProjector, explain, project } from "./projection/projector.ts";
export type { Reader, Readers } from "./projection/transcript/entry-reader.ts";
export { openCalls, transcript } from "./projection/transcript/transcript.ts";
export {
  AgentHost,
  type AgentRequest,
  AgentServer,
  type AskArguments,
  type AskOptions,
  CallError,
  type HostOptions,
  type McpClient,
  type McpOptions,
  ModelError,
  mcpTools,
  type OpenTelemetryOptions,
  type OperationAnswer,
  openTelemetry,
  type RebuiltCall,
  type Receipt,
  RequestError,
  type RequestResult,
  type RunHandle,
  type RunOptions,
  type RunResult,
  type RuntimePorts,
  react,
  rebuildCall,
  runInstructions,
  runTool,
  type ServerOptions,
  type SteerAnswer,
  type SteerOptions,
  systemRuntimePorts,
  type Telemetry as RuntimeTelemetry,
  toolSpecsOf,
} from "./runtime/index.ts";
export { ConflictError, CorruptionError, StaleHolderError, StoreError, ThreadHeldError } from "./stores/errors.ts";
export { memoryStore } from "./stores/memory-store.ts";
export { type OpenStoreOptions, openStore } from "./stores/open-store.ts";
export type { ThreadStore } from "./stores/port.ts";
export { projectFromStore } from "./stores/project-from-store.ts";
export type { Entry, EntryInput, EntryInputByKind, Refs } from "./thread/entry.ts";
export { HeddleError, ThreadError } from "./thread/errors.ts";
export { escapeHidden } from "./thread/hidden-characters.ts";
export { httpStatusOf } from "./thread/http-status.ts";
export type { JsonObject, JsonValue } from "./thread/json.ts";
export type { EntryKinds } from "./thread/kinds.ts";
export type { Content, Message, Part, ToolCall, ToolSpec } from "./thread/message.ts";
export type { MessageFormat } from "./thread/messages/formats.ts";
export { entriesOfStep } from "./thread/messages/from-messages.ts";
export { Thread } from "./thread/thread.ts";
export { calibrate, calibrated } from "./tokens/calibrate.ts";
export { heuristic, type TokenCounter } from "./tokens/counter.ts";
export { loadExactCounter } from "./tokens/exact.ts";
