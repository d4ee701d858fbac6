import { settingsOf, type TokenConfig } from "./config.ts";
import { copyState, type ResumeState } from "./state.ts";

/**
 * Mints a token to resume the run later or in another process. It is signed, not encrypted: anyone with the token can read
 * the context. If the state is too large and has a threadRef, the token contains only the threadRef.
 *
 * @example
 * const config = { tokenSecret: "a secret of at least 32 bytes....", tokenBind: { tenant: "acme" } };
 * const token = await mint(
 *   { runId: "run_1", requestId: "req_1", phase: "after_tools", context: { messages: [] } },
 *   config,
 * );
 * token.startsWith("rt2."); // true
 */
export async function mint(state: ResumeState, config: TokenConfig): Promise<string> {
  // Copy both before the first await, because the caller may change them afterwards.
  const settings = settingsOf(config);
  const copy = copyState(state);
  const { seal } = await import("./seal.ts");
  return seal(copy, settings);
}
