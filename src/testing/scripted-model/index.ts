export type { Difference } from "./differences.ts";
export { ScriptMismatch } from "./errors.ts";
export type { V4CallOptions, V4GenerateResult, V4StreamResult } from "./language-model.ts";
export type { AskedCall, AskedMessage, AskedResult, ScriptedRequest } from "./request.ts";
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
} from "./script.ts";
export { type ScriptedModel, type ScriptedModelOptions, scriptedModel } from "./scripted-model.ts";
