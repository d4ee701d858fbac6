import type { JsonValue } from "../thread/json.ts";

/** Remembers which tokens are no longer accepted. `verify` asks; you revoke. */
export interface Revocations {
  /** Called once by each `verify` of a token that is good otherwise; what it throws refuses the token too. */
  isRevoked(tokenId: string): Promise<boolean>;
  /** For good, and safe to repeat. */
  revoke(tokenId: string): Promise<void>;
}

/** The part of a store that revocations need; every ThreadStore has it. */
export interface CheckpointStore {
  getCheckpoint(key: string): Promise<JsonValue | undefined>;
  putCheckpoint(key: string, value: JsonValue): Promise<void>;
}

/**
 * Revocations kept as checkpoints of a store, so that every process with the store refuses the token.
 *
 * @example
 * const revocations = checkpointRevocations(store);
 * const config = { tokenSecret: "a secret of at least 32 bytes....", revocations };
 * const token = await mint({ runId: "run_1", requestId: "req_1", phase: "terminal", context: {} }, config);
 * const { tokenId } = await verify(token, config);
 * await revocations.revoke(tokenId); // from now on verify says token_revoked
 */
export function checkpointRevocations(store: CheckpointStore): Revocations {
  return {
    isRevoked: async (tokenId) => (await store.getCheckpoint(keyOf(tokenId))) !== undefined,
    revoke: (tokenId) => store.putCheckpoint(keyOf(tokenId), true),
  };
}

function keyOf(tokenId: string): string {
  return `revoked_token_${tokenId}`;
}
