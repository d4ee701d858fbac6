import type { JsonValue } from "../thread/json.ts";

/** The list of revoked tokens. `verify` calls `isRevoked`; your code calls `revoke`. */
export interface Revocations {
  /** Called once per `verify`, when the token is otherwise valid. When it throws, the token is refused too. */
  isRevoked(tokenId: string): Promise<boolean>;
  /** Revokes a token permanently. Safe to repeat. */
  revoke(tokenId: string): Promise<void>;
}

/** The store methods that revocations need. Every ThreadStore has them. */
export interface CheckpointStore {
  getCheckpoint(key: string): Promise<JsonValue | undefined>;
  putCheckpoint(key: string, value: JsonValue): Promise<void>;
}

/**
 * Stores revocations as checkpoints, so that every process with this store refuses the token.
 *
 * @example
 * const revocations = checkpointRevocations(store);
 * const config = { tokenSecret: "a secret of at least 32 bytes....", revocations };
 * const token = await mint({ runId: "run_1", requestId: "req_1", phase: "terminal", context: {} }, config);
 * const { tokenId } = await verify(token, config);
 * await revocations.revoke(tokenId); // from now on verify throws token_revoked
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
