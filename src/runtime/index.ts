export type { ErrorOrigin, OnError } from "./callbacks.ts";
export { CallError } from "./calls/find-call.ts";
export type { RebuildOptions, RebuiltCall } from "./calls/rebuild-call.ts";
export { AgentHost } from "./host/agent-host.ts";
export type { HostGetOptions, HostOptions } from "./host/options.ts";
export type { Recovered } from "./host/recovery.ts";
export * from "./lazy-functions.ts";
export { ModelError, type PartialAnswer } from "./model/failure.ts";
export { type RuntimePorts, systemRuntimePorts } from "./ports.ts";
export { type ReactOptions, react, type Standalone } from "./react.ts";
export type {
  AgentRequest,
  EventsOptions,
  Receipt,
  ReceiptReason,
  RequestState,
  SteerAnswer,
} from "./request/request.ts";
export { RequestError } from "./request/request-error.ts";
export type { CallSummary, RequestResult } from "./request/result.ts";
export { type InstructionOutcome, type RunInstructionsOptions, runInstructions } from "./run-instructions.ts";
export { AgentServer } from "./server/agent-server.ts";
export type { OperationAnswer, OperationSettled } from "./server/modify.ts";
export type {
  AskArguments,
  AskOptions,
  Decider,
  SenderOptions,
  ServerOptions,
  SettingOptions,
  SteerOptions,
  StopOptions,
} from "./server/options.ts";
export type {
  CancelOptions,
  ContinueOptions,
  Decisions,
  RunHandle,
  RunOptions,
  RunResult,
} from "./standalone/options.ts";
export type {
  ModelSpan,
  RequestSpan,
  SentRequest,
  SummarySpan,
  SummaryWork,
  Telemetry,
  TelemetryScene,
  ToolSpan,
} from "./telemetry/telemetry.ts";
