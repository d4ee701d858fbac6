import type { ReactAgent } from "../../agent/react/agent.ts";
import type { Run } from "../../agent/react/state.ts";
import { TokenError } from "../../checkpoint/error.ts";
import { mint } from "../../checkpoint/resume-tokens.ts";
import type { Tokens } from "../session/tokens.ts";

/** A token with which the request can be resumed from here; undefined when it would be too large. */
export async function mintToken(
  tokens: Tokens,
  agent: ReactAgent,
  { requestId, runId, iteration, callId }: Run,
  phase: "after_llm" | "after_tools" | "terminal",
): Promise<string | undefined> {
  const basis = { iteration, ...(callId !== undefined && { callId }) };
  try {
    return await mint({ runId, requestId, phase, basis, ...(await tokens.carry(agent)) }, tokens.config);
  } catch (error) {
    if (!TokenError.isInstance(error) || error.code !== "token_too_large") throw error;
    tokens.tooLarge(error);
    return undefined;
  }
}
