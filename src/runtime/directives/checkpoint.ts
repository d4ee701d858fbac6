import type { Directive } from "../../agent/directive.ts";
import type { ReactAgent } from "../../agent/react/agent.ts";
import { TokenError } from "../../checkpoint/error.ts";
import { mint } from "../../checkpoint/resume-tokens.ts";
import type { Tokens } from "../session/tokens.ts";
import type { Scene } from "./scene.ts";

type Checkpoint = Extract<Directive, { type: "checkpoint" }>;

/** A token with which the request goes on from here, for those who want one. */
export async function checkpoint(scene: Scene, directive: Checkpoint, after: ReactAgent): Promise<void> {
  const { tokens } = scene;
  const { requestId, iteration, reason } = directive;
  const request = scene.request(requestId);
  if (tokens === undefined || request === undefined) return;
  const token = await minted(tokens, directive, after);
  if (token === undefined) return;
  request.emit({ kind: "checkpoint", data: { token, reason } }, iteration);
  if (reason !== "terminal") await tokens.told?.();
}

async function minted(
  { carry, config, tooLarge }: Tokens,
  { requestId, runId, iteration, reason }: Checkpoint,
  after: ReactAgent,
): Promise<string | undefined> {
  const { last, run } = after.state;
  const { iteration: made = iteration, callId } = run ?? last?.run ?? {};
  const basis = { iteration: made, ...(callId !== undefined && { callId }) };
  try {
    return await mint({ runId, requestId, phase: reason, basis, ...(await carry(after)) }, config);
  } catch (error) {
    if (!TokenError.isInstance(error) || error.code !== "token_too_large") throw error;
    tooLarge(error);
    return undefined;
  }
}
