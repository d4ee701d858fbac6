import "./thread/node-version.ts";

export type { Advanced } from "./runtime/host/advance.ts";
export type { V4CallOptions, V4GenerateResult, V4StreamResult } from "./scripted-model/language-model.ts";
export { type Difference, ScriptMismatch } from "./scripted-model/mismatch.ts";
export type { RequestMessage, RequestToolCall, RequestToolResult, ScriptedRequest } from "./scripted-model/request.ts";
export type {
  Deltas,
  Expectation,
  ExpectedMessage,
  ScriptedAnswer,
  ScriptedApiError,
  ScriptedCall,
  ScriptedExpect,
  ScriptedPart,
  ScriptedStep,
  TextMatch,
} from "./scripted-model/script.ts";
export { type ScriptedModel, type ScriptedModelOptions, scriptedModel } from "./scripted-model/scripted-model.ts";
export {
  assistant,
  type EntryExtras,
  inLane,
  note,
  notes,
  replace,
  summary,
  switchTo,
  toolCall,
  toolResult,
  user,
} from "./testing/builders.ts";
export type { ContractCase, StoreSubject } from "./testing/contract/case-fixture.ts";
export { ContractFailure } from "./testing/contract/case-fixture.ts";
export { storeContract } from "./testing/contract/store-contract.ts";
export { runWorkerJob, type WorkerJob, type WorkerResult } from "./testing/contract/worker-job.ts";
export {
  type AdvanceThread,
  type EngineProcess,
  type EngineSubject,
  engineContract,
} from "./testing/engine/engine-contract.ts";
export {
  type Fault,
  type FaultOptions,
  type FaultPlan,
  type FaultStore,
  READ_METHODS,
  type ReadFault,
  type ReadMethod,
  type ReadPlan,
  type StoreRead,
  type StoreWrite,
  WRITE_METHODS,
  type WriteMethod,
} from "./testing/fault-store/fault.ts";
export { faultStore } from "./testing/fault-store/fault-store.ts";
export type { AgentFactory, AgentParts } from "./testing/simulation/generated-agent.ts";
export { LawViolation } from "./testing/simulation/journal.ts";
export { type Simulation, type SimulationOptions, simulate } from "./testing/simulation/simulate.ts";
export {
  type AsymmetricMatcher,
  type ExpectedDirective,
  type ExpectedEntry,
  type ExpectedValue,
  SpecificationFailure,
  type SpecificationOutcome,
} from "./testing/specification/outcome.ts";
export {
  askSignal,
  type ModelToolCall,
  modelCallsSignal,
  modelTextSignal,
  toolResultSignal,
} from "./testing/specification/signals.ts";
export {
  numberedPorts,
  type Specification,
  type SpecificationHistory,
  specify,
} from "./testing/specification/specify.ts";
