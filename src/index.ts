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
  sleep,
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
export { branch } from "./lanes/branch.ts";
export { ContextOpError, type ContextOperation } from "./lanes/context-operation.ts";
export { PolicyError, ProjectionError } from "./projection/error.ts";
export type { ProjectionInput } from "./projection/input/input.ts";
export type { ContextPolicyInput } from "./projection/policy/fields.ts";
export { ContextPolicy } from "./projection/policy/policy.ts";
export type { ExplainedEntry, Projection } from "./projection/projection.ts";
export { createProjector, explain, project } from "./projection/projector.ts";
export type { Reader, Readers } from "./projection/transcript/entry-reader.ts";
export { openCalls, transcript } from "./projection/transcript/transcript.ts";
export { CallError } from "./runtime/calls/find-call.ts";
export { type RebuiltCall, rebuildCall } from "./runtime/calls/rebuild-call.ts";
export { AgentHost } from "./runtime/host/agent-host.ts";
export { developmentHost } from "./runtime/host/development-host.ts";
export type { HostOptions } from "./runtime/host/options.ts";
export { TenantHosts } from "./runtime/host/tenant-hosts.ts";
export { ModelError } from "./runtime/model/failure.ts";
export { type RuntimePorts, systemRuntimePorts } from "./runtime/ports.ts";
export { react } from "./runtime/react.ts";
export type { AgentRequest, Receipt, SteerAnswer } from "./runtime/request/request.ts";
export { RequestError } from "./runtime/request/request-error.ts";
export type { RequestResult } from "./runtime/request/result.ts";
export { runInstructions } from "./runtime/run-instructions.ts";
export { AgentServer } from "./runtime/server/agent-server.ts";
export type { OperationAnswer } from "./runtime/server/modify.ts";
export type {
  AskArguments,
  AskCommand,
  AskOptions,
  InjectOptions,
  ServerOptions,
  SteerOptions,
} from "./runtime/server/options.ts";
export type { PendingCommand } from "./runtime/server/pending.ts";
export type { RunHandle, RunOptions, RunResult } from "./runtime/standalone/options.ts";
export type { OpenTelemetryOptions } from "./runtime/telemetry/measured-span.ts";
export { openTelemetry } from "./runtime/telemetry/open-telemetry.ts";
export type { Telemetry as RuntimeTelemetry } from "./runtime/telemetry/telemetry.ts";
export { type AgentToolOptions, agentTool } from "./runtime/tools/agent-tool.ts";
export { handoff } from "./runtime/tools/handoff.ts";
export { type McpClient, type McpOptions, mcpTools } from "./runtime/tools/mcp.ts";
export { runTool } from "./runtime/tools/run-tool.ts";
export { toolSpecsOf } from "./runtime/tools/schemas.ts";
export { ConflictError, CorruptionError, StaleHolderError, StoreError, ThreadHeldError } from "./stores/errors.ts";
export { memoryStore } from "./stores/memory-store.ts";
export { type OpenStoreOptions, openStore } from "./stores/open-store.ts";
export type { ThreadStore } from "./stores/port.ts";
export { projectFromStore } from "./stores/project-from-store.ts";
export type { Entry, EntryInput, EntryInputByKind, Refs } from "./thread/entry.ts";
export { HeddleError, ThreadError } from "./thread/errors.ts";
export { httpStatusOf } from "./thread/http-status.ts";
export type { JsonObject, JsonValue } from "./thread/json.ts";
export type { EntryKinds } from "./thread/kinds.ts";
export type { Content, Message, Part, ToolCall, ToolSpec } from "./thread/message.ts";
export { entriesOfStep } from "./thread/messages/from-messages.ts";
export { Thread } from "./thread/thread.ts";
export { calibrate, calibrated } from "./tokens/calibrate.ts";
export { heuristic, type TokenCounter } from "./tokens/counter.ts";
export { loadExactCounter } from "./tokens/exact.ts";
