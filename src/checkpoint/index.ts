export type { TokenBind, TokenConfig } from "./config.ts";
export { TokenError, type TokenErrorCode } from "./error.ts";
export { tokenIdOf } from "./format.ts";
export { mint } from "./mint.ts";
export type { TokenClaims } from "./payload.ts";
export { type CheckpointStore, checkpointRevocations, type Revocations } from "./revocations.ts";
export type { TokenSecret, Warn } from "./secrets.ts";
export type { ResumePhase, ResumeState, ThreadRef } from "./state.ts";
export { type VerifiedToken, verify } from "./verify.ts";
