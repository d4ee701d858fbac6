import { settingsOf, type TokenConfig } from "./config.ts";
import { copyState, type ResumeState } from "./state.ts";

/**
 * A token with which the run goes on later, elsewhere. It is signed, not encrypted: whoever holds it can read the
 * context. A state that has a threadRef and is too large for a token is left in the thread and referred to.
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
  // Read before anything is waited for: the caller may go on with both.
  const settings = settingsOf(config);
  const copy = copyState(state);
  const { seal } = await import("./seal.ts");
  return seal(copy, settings);
}
