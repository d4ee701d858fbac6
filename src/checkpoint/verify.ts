import { settingsOf, type TokenConfig } from "./config.ts";
import type { VerifiedToken } from "./unseal.ts";

/**
 * Verifies a token and returns its content. Throws a TokenError whose code says why the token is refused. Does not read a
 * payload before its signature is verified.
 *
 * @example
 * const config = { tokenSecret: "a secret of at least 32 bytes....", tokenBind: { tenant: "acme" } };
 * const token = await mint({ runId: "run_1", requestId: "req_1", phase: "terminal", context: { text: "4" } }, config);
 * const { state } = await verify(token, config);
 * state.context; // { text: "4" }
 */
export async function verify(token: string, config: TokenConfig): Promise<VerifiedToken> {
  const settings = settingsOf(config); // copy before the first await: the caller may change it afterwards
  const { unseal } = await import("./unseal.ts");
  return unseal(token, settings);
}
