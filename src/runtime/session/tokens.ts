import type { AnyAgent } from "../../agent/definition/config.ts";
import { UNNAMED } from "../../agent/definition/define-agent.ts";
import type { ReactAgent } from "../../agent/react/agent.ts";
import type { TokenConfig, Warn } from "../../checkpoint/config.ts";
import type { TokenError } from "../../checkpoint/error.ts";
import type { ThreadRef } from "../../checkpoint/payload.ts";
import { portableSha256 } from "../../thread/encoding.ts";
import type { JsonValue } from "../../thread/json.ts";
import type { Clock } from "../../thread/ports.ts";

/** What of a run a token holds. */
type Held = { readonly context: JsonValue } | { readonly threadRef: ThreadRef };

/** How tokens are made of a run: what they carry, and how they are signed. */
export interface Tokens {
  readonly config: TokenConfig;
  readonly carry: (agent: ReactAgent) => Held | Promise<Held>;
  /** Told of each token that cannot be made because it is too large: the run goes on without it. */
  readonly tooLarge: (error: TokenError) => void;
  /** Called when a token was told in the middle of a run: what comes next begins when it resolves. */
  readonly told?: (() => Promise<void>) | undefined;
}

export interface TokenPorts {
  readonly warn: Warn;
  readonly clock: Clock;
}

/** Tokens that refer to a thread in a store. */
export function referring(config: TokenConfig, threadId: string): Tokens {
  const carry = ({ thread }: ReactAgent): Held => ({ threadRef: { threadId, rev: thread.rev } });
  return { config, carry, tooLarge: warnsOnce(config) };
}

/** A run that nobody wants tokens of must not fail for them; but nobody should miss them unaware. */
export function warnsOnce({ warn }: TokenConfig): Tokens["tooLarge"] {
  let warned = false;
  return ({ message }) => {
    if (!warned)
      warn?.(`A run has no resume token here. ${message} Or run it with a store: its tokens only refer to it.`);
    warned = true;
  };
}

/** How an agent's tokens are signed; its definition has checked the options. */
export function tokenConfigOf(agent: AnyAgent, { warn, clock }: TokenPorts): TokenConfig {
  const { tokenSecret, tokenTtlMs, tokenBind, tokenMaxBytes } = agent;
  return { tokenSecret, tokenTtlMs, tokenBind, tokenMaxBytes, configFingerprint: fingerprintOf(agent), warn, clock };
}

/**
 * One agent does not go on with the run of another. A name is all that an agent has to keep while its tokens are under way;
 * one without a name is known by the names of its tools and its prompt.
 */
function fingerprintOf({ name, tools, systemPrompt }: AnyAgent): string {
  if (name !== UNNAMED) return name;
  const prompt = typeof systemPrompt === "string" ? systemPrompt : null;
  return `${name} ${portableSha256(JSON.stringify([Object.keys(tools).sort(), prompt]))}`;
}
