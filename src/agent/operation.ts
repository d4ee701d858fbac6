import type { AiContextOperationPayload } from "../thread/kinds.ts";

/** A change of what a lane shows, or of the lane that is active: the payload of an `ai_context_operation`. */
export type ContextOperation = AiContextOperationPayload;
