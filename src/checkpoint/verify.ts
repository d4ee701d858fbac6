import { settingsOf, type TokenConfig } from "./config.ts";
import type { VerifiedToken } from "./unseal.ts";

/**
 * What a token says, or a TokenError whose code says why it is refused. Nothing of a payload is read before its
 * signature is known to be good.
 *
 * @example
 * const config = { tokenSecret: "a secret of at least 32 bytes....", tokenBind: { tenant: "acme" } };
 * const token = await mint({ runId: "run_1", requestId: "req_1", phase: "terminal", context: { text: "4" } }, config);
 * const { state } = await verify(token, config);
 * state.context; // { text: "4" }
 */
export async function verify(token: string, config: TokenConfig): Promise<VerifiedToken> {
  const settings = settingsOf(config); // before anything is waited for: the caller may go on with it
  const { unseal } = await import("./unseal.ts");
  return unseal(token, settings);
}
