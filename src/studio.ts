import "./thread/node-version.ts";

export type {
  AccessCode,
  AccessToken,
  AskAccepted,
  CallDetail,
  CallDiff,
  CallPage,
  CallRow,
  CallWire,
  CancelResult,
  Cause,
  CauseRule,
  DecisionResult,
  DeleteResult,
  EntryWindow,
  FirstChange,
  ForkRow,
  Info,
  MessageChange,
  OperationResult,
  Problem,
  RebuiltCallView,
  ResponseBodies,
  SteerResult,
  StreamData,
  SuggestedPrompt,
  SummaryResult,
  ThreadDetail,
  ThreadQuery,
  ThreadRow,
  ThreadRowPage,
  ThreadView,
} from "./studio/contract.ts";
export { assistantAgent, modelFromEnv } from "./studio/default-agent.ts";
export { demoAgent } from "./studio/demo/demo-agent.ts";
export { type DemoOptions, demoModel } from "./studio/demo/demo-model.ts";
export { type StudioHandler, studioHandler } from "./studio/handler.ts";
export { StudioError } from "./studio/http/response.ts";
export { openApi } from "./studio/openapi.ts";
export type { RunningStudio, StartOptions, StudioOptions } from "./studio/options.ts";
export { startStudio } from "./studio/start-studio.ts";
