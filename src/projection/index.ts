export { type BudgetParts, ProjectionError } from "./error.ts";
export type { PendingItem, ProjectionInput } from "./input/input.ts";
export { PolicyError } from "./policy/error.ts";
export type { ContextPolicyInput, ToolResultsPolicy, WindowPolicy } from "./policy/fields.ts";
export { ContextPolicy } from "./policy/policy.ts";
export { type PolicySources, resolvePolicy } from "./policy/resolve.ts";
export { explain, project } from "./project.ts";
export type * from "./projection.ts";
export { createProjector, type Projector, type ProjectorOptions } from "./projector.ts";
export { PROJECTOR, PROJECTORS, type ProjectorName } from "./rules.ts";
export { concat, segments } from "./segments.ts";
export { type AcceptSummaryOptions, acceptSummary, type SummaryVerdict } from "./summarise/accept.ts";
export type { SummaryRange } from "./summarise/range.ts";
export { summaryRangeOf } from "./summarise/range-of.ts";
export {
  MAX_RESULT_TOKENS,
  type SummaryRequest,
  type SummaryRequestOptions,
  summaryRequest,
} from "./summarise/request.ts";
export { type OpenCallsOptions, type OpenToolCall, openCalls } from "./transcript/open-calls.ts";
export type { ReadContext, Reader, Readers, Said } from "./transcript/reader.ts";
export { type TranscriptItem, type TranscriptOptions, transcript } from "./transcript/transcript.ts";
