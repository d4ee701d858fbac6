import type { AnyAgent } from "../../agent/definition/agent.ts";
import type { ReactAgent } from "../../agent/react/agent.ts";
import type { TokenConfig } from "../../checkpoint/config.ts";
import type { TokenError } from "../../checkpoint/error.ts";
import { secretsOf, type Warn } from "../../checkpoint/secrets.ts";
import type { ThreadRef } from "../../checkpoint/state.ts";
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

/** Of an agent. Its name is in every token: one agent does not go on with the run of another. */
export function tokenConfigOf(agent: AnyAgent, { warn, clock }: TokenPorts): TokenConfig {
  const { name, tokenSecret, tokenTtlMs, tokenBind, tokenMaxBytes } = agent;
  if (tokenSecret !== undefined) secretsOf(tokenSecret, undefined); // a bad one is told before the model is asked
  return { tokenSecret, tokenTtlMs, tokenBind, tokenMaxBytes, configFingerprint: name, warn, clock };
}
