import "./thread/node-version.ts";

export { cmd } from "./agent/cmd.ts";
export type {
  AcceptScope,
  AgentOutput,
  DownloadFunction,
  DownloadLimits,
  DownloadRequest,
  DownloadResult,
  GuardVerdict,
  Limits,
  ModelRequest,
} from "./agent/definition/config.ts";
export { isAgent } from "./agent/definition/define-agent.ts";
export type { ModelCallOptions, ModelResult, ModelStream } from "./agent/definition/language-model.ts";
export type {
  CallScope,
  PreparedCall,
  Reasoning,
  RequestScope,
  ToolChoiceSetting,
} from "./agent/definition/prepare.ts";
export type {
  InferInput,
  JsonSchema,
  PlainJsonSchema,
  StandardResult,
  StandardSchema,
  Validation,
} from "./agent/definition/schema.ts";
export type {
  CompletedCall,
  CompletedExchange,
  RequestStep,
  StepFile,
  StepPart,
  StepSource,
  StepToolCall,
  StepToolError,
  StepToolResult,
  StepUsage,
} from "./agent/definition/stop-when.ts";
export type {
  ApprovalOptions,
  ResolveTool,
  ToolContentPart,
  ToolInput,
  ToolOutput,
  ToolResult,
  ToolResultOptions,
} from "./agent/definition/tool.ts";
export {
  type Action,
  type ActionOptions,
  type AnyAction,
  type DirectAgent,
  type DirectDirective,
  type DirectOptions,
  type DirectSignal,
  defineAction,
  direct,
  type Instruction,
  type InstructionResult,
} from "./agent/direct/agent.ts";
export type { CommandOptions } from "./agent/direct/decide.ts";
export type { Directive, LlmStream, Summarize, ToolExec } from "./agent/directive.ts";
export type { EventData, EventDraft, EventKind, TerminationReason } from "./agent/event.ts";
export {
  addUsage,
  type CallBasis,
  type CallEnvironment,
  type CallRecord,
  type ModelAnswer,
  type ModelFinishReason,
  recordedCall,
  type UsageByModel,
} from "./agent/model-call.ts";
export {
  isWaiting,
  type ReactAgent,
  reactAgent,
  type SummaryGoal,
  type WaitingCall,
  waitingCalls,
} from "./agent/react/agent.ts";
export { type AgentInspection, inspectAgent } from "./agent/react/operations.ts";
export { isAsk, type RestoreOptions, restore } from "./agent/react/restore.ts";
export { type PendingAsk, type ReactSettings, reactSettings, type ToolTraits } from "./agent/react/settings.ts";
export type { OpenCall, ReactState, RequestEnd, Run } from "./agent/react/state.ts";
export type {
  FailedSummary,
  OutputCheck,
  SentMessages,
  Signal,
  Steer,
  SteerKind,
  StoredRequestOptions,
  ToolOutcome,
} from "./agent/signal.ts";
export type { CheckpointStore, Revocations, TokenBind, TokenSecret, Warn } from "./checkpoint/config.ts";
export type { TokenErrorCode } from "./checkpoint/error.ts";
export type { ResumePhase, ResumeState, ThreadRef, TokenClaims } from "./checkpoint/payload.ts";
export type { ResumeTokens, VerifiedToken } from "./checkpoint/resume-tokens.ts";
export type { BranchOptions } from "./lanes/branch.ts";
export type { ContextOpErrorCode } from "./lanes/context-operation.ts";
export { type Context, type ContextEntry, foldLane, type LaneReport, verifyLane } from "./lanes/fold-lane.ts";
export type { LaneItem } from "./lanes/lane-log.ts";
export {
  type HeldSettings,
  heldSettings,
  type PermissionRule,
  SettingError,
  type SettingErrorCode,
} from "./lanes/setting.ts";
export type { BudgetParts } from "./projection/error.ts";
export type { PendingItem } from "./projection/input/input.ts";
export type { PolicyFields, ToolResultsPolicy, WindowPolicy } from "./projection/policy/fields.ts";
export type { PolicySources } from "./projection/policy/policy.ts";
export type {
  Budget,
  EntryRule,
  EntryStatus,
  ProjectionMeta,
  ProjectionView,
  Provenance,
  Segment,
} from "./projection/projection.ts";
export { concat, type Projector, type ProjectorOptions, segments } from "./projection/projector.ts";
export { PROJECTOR, PROJECTORS, type ProjectorName } from "./projection/rules.ts";
export { type SummaryRange, summaryRangeOf } from "./projection/summary/summary-range.ts";
export { MAX_RESULT_TOKENS } from "./projection/summary/summary-record.ts";
export {
  type AcceptSummaryOptions,
  acceptSummary,
  type SummaryRequest,
  type SummaryRequestOptions,
  type SummaryVerdict,
  summaryRequest,
} from "./projection/summary/summary-request.ts";
export type { EntryMessage, ReadContext } from "./projection/transcript/entry-reader.ts";
export type {
  OpenCallsOptions,
  OpenToolCall,
  TranscriptItem,
  TranscriptOptions,
} from "./projection/transcript/transcript.ts";
export type { ErrorOrigin, OnError } from "./runtime/callbacks.ts";
export type { RebuildOptions } from "./runtime/calls/rebuild-call.ts";
export type {
  HostGetOptions,
  TenantHostsOptions,
  TenantWorkOptions,
  WaitingThread,
  WorkOptions,
} from "./runtime/host/options.ts";
export type { TitledConversation, TitleOptions } from "./runtime/host/titles.ts";
export type { PartialAnswer } from "./runtime/model/failure.ts";
export type { ReactOptions, Standalone } from "./runtime/react.ts";
export type { EventsOptions, ReceiptReason, RequestState } from "./runtime/request/request.ts";
export type { CallSummary } from "./runtime/request/result.ts";
export type { InstructionOutcome, RunInstructionsOptions } from "./runtime/run-instructions.ts";
export type { CutAnswer, OperationSettled } from "./runtime/server/modify.ts";
export type {
  AnswerOptions,
  CutOptions,
  Decider,
  SenderOptions,
  SettingOptions,
  StopOptions,
} from "./runtime/server/options.ts";
export type { CancelOptions, ContinueOptions, Decisions } from "./runtime/standalone/options.ts";
export type {
  AskSpan,
  AskWork,
  ModelSpan,
  RequestSpan,
  RequestWork,
  SentRequest,
  SummarySpan,
  SummaryWork,
  TelemetryScene,
  ToolSpan,
} from "./runtime/telemetry/telemetry.ts";
export type { HandoffOptions } from "./runtime/tools/handoff.ts";
export type { McpTool } from "./runtime/tools/mcp.ts";
export type { ToolRunResult } from "./runtime/tools/outcome.ts";
export type { ToolRunOptions } from "./runtime/tools/run-tool.ts";
export type { SpecOptions } from "./runtime/tools/schemas.ts";
export type { EntryByKind, OtherKind, RefValue } from "./thread/entry.ts";
export type { ErrorFacts } from "./thread/errors.ts";
export type {
  AiContextOperationPayload,
  AiMessagePayload,
  AiSettingPayload,
  ApprovalRequestedPayload,
  ApprovalResolvedPayload,
  ErrorPayload,
  InstructionEndPayload,
  InstructionStartPayload,
  MessagePayload,
  NotePayload,
  QuestionAnsweredPayload,
  QuestionAskedPayload,
  Setting,
  SleepStartedPayload,
  SummaryPayload,
  ToolCallPayload,
  ToolResultPayload,
  ToolStartedPayload,
} from "./thread/kinds.ts";
export type {
  AssistantMessage,
  Author,
  CustomPart,
  FileContentPart,
  PartMetadata,
  ProviderCallPart,
  ProviderResultPart,
  SourcePart,
  SystemMessage,
  TextContentPart,
  ThinkingPart,
  ToolApproval,
  ToolCallPosition,
  ToolMessage,
  UserMessage,
} from "./thread/message.ts";
export type { FormattedMessage, MessageFormat } from "./thread/messages/formats.ts";
export type { StepOptions } from "./thread/messages/from-messages.ts";
export type { ThreadOptions } from "./thread/options.ts";
export { type Clock, type Ids, type Ports, systemPorts } from "./thread/ports.ts";
export type { ThreadData, ThreadParts } from "./thread/thread-data.ts";
export type { CalibratedCounter, CallSample } from "./tokens/calibrate.ts";
export { type CounterFacts, countMessage, countTool, countTools, FILE_TOKENS, factsOf } from "./tokens/counter.ts";
export { type CountTokens, type Encoding, exactCounter, type LoadModule } from "./tokens/exact.ts";
