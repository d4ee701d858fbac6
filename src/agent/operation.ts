import type { AiContextOperationPayload } from "../thread/kinds.ts";

/** A change to the content of a lane, or a switch of the active lane: the payload of an `ai_context_operation`. */
export type ContextOperation = AiContextOperationPayload;
