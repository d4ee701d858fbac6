import type { AnyAgent } from "../../agent/definition/config.ts";
import { UNNAMED } from "../../agent/definition/define-agent.ts";
import type { ReactAgent } from "../../agent/react/agent.ts";
import type { Run } from "../../agent/react/state.ts";
import type { TokenConfig, Warn } from "../../checkpoint/config.ts";
import { TokenError } from "../../checkpoint/error.ts";
import type { ThreadRef } from "../../checkpoint/payload.ts";
import { mint } from "../../checkpoint/resume-tokens.ts";
import { portableSha256 } from "../../thread/encoding.ts";
import type { JsonValue } from "../../thread/json.ts";
import type { Clock } from "../../thread/ports.ts";

/** The part of a token that has the run: its whole log as `context`, or a reference to a stored thread. */
type TokenContent = { readonly context: JsonValue } | { readonly threadRef: ThreadRef };

/** How the tokens of a run are made: their content and their signature. */
export interface Tokens {
  readonly config: TokenConfig;
  readonly contentOf: (agent: ReactAgent) => TokenContent | Promise<TokenContent>;
  /** Called for a token that is too large. The run continues without it. */
  readonly onTooLarge: (error: TokenError) => void;
  /** Called after a token was emitted during a run. The run continues when it resolves. */
  readonly onCheckpoint?: (() => Promise<void>) | undefined;
}

export interface TokenPorts {
  readonly warn: Warn;
  readonly clock: Clock;
}

/** Tokens that refer to a thread in a store. */
export function refTokens(config: TokenConfig, threadId: string): Tokens {
  const contentOf = ({ thread }: ReactAgent): TokenContent => ({ threadRef: { threadId, rev: thread.rev } });
  return { config, contentOf, onTooLarge: warnOfSize(config) };
}

/** Warns once of a token that is too large. The run does not fail, because its caller may not need tokens. */
export function warnOfSize({ warn }: TokenConfig): Tokens["onTooLarge"] {
  let hasWarned = false;
  return ({ message }) => {
    if (!hasWarned)
      warn?.(
        `A run has no resume token here. ${message} Or run it with a store, so that its tokens only refer to the thread.`,
      );
    hasWarned = true;
  };
}

/** How the tokens of an agent are signed. `defineAgent` has checked the options. */
export function tokenConfigOf(agent: AnyAgent, { warn, clock }: TokenPorts): TokenConfig {
  const { tokenSecret, tokenTtlMs, tokenBind, tokenMaxBytes } = agent;
  return { tokenSecret, tokenTtlMs, tokenBind, tokenMaxBytes, configFingerprint: fingerprintOf(agent), warn, clock };
}

/**
 * Identifies the agent in its tokens, because an agent must not resume the run of another one. It is the name, so that all
 * else may change while tokens are in use. Without a name it is a hash of the prompt and the names of the tools.
 */
function fingerprintOf({ name, tools, systemPrompt }: AnyAgent): string {
  if (name !== UNNAMED) return name;
  const prompt = typeof systemPrompt === "string" ? systemPrompt : null;
  return `${name} ${portableSha256(JSON.stringify([Object.keys(tools).sort(), prompt]))}`;
}

/** A token that resumes the request from this checkpoint. Undefined if it would be too large. */
export async function mintToken(
  tokens: Tokens,
  agent: ReactAgent,
  { requestId, runId, iteration, callId }: Run,
  phase: "after_llm" | "after_tools" | "terminal",
): Promise<string | undefined> {
  const basis = { iteration, ...(callId !== undefined && { callId }) };
  try {
    return await mint({ runId, requestId, phase, basis, ...(await tokens.contentOf(agent)) }, tokens.config);
  } catch (error) {
    if (!TokenError.isInstance(error) || error.code !== "token_too_large") throw error;
    tokens.onTooLarge(error);
    return undefined;
  }
}
