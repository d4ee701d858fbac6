import type { AnyAgent } from "../../agent/definition/config.ts";
import type { Revocations } from "../../checkpoint/config.ts";
import { TokenError } from "../../checkpoint/error.ts";
import { threadNotFound } from "../../stores/errors.ts";
import type { ThreadStore } from "../../stores/port.ts";
import type { RuntimePorts } from "../ports.ts";
import { settingsFor } from "../server/settings.ts";
import { loadAgent } from "../session/load.ts";
import type { TokenPorts } from "../session/tokens.ts";
import { checkNotSuperseded, type RunToken, readToken } from "../standalone/run-token.ts";

/** The target of a host command: a thread, or the request of a token. */
export interface Target {
  readonly threadId: string;
  readonly requestId: string | undefined;
  /** The name of the agent that minted the token. */
  readonly agent: string | undefined;
}

interface Reading extends TokenPorts {
  readonly agents: readonly AnyAgent[];
  readonly store: ThreadStore;
  readonly ports: RuntimePorts;
  readonly revocations?: Pick<Revocations, "isRevoked"> | undefined;
}

/** Matches tokens of all versions. Generated thread ids never begin like this. */
const TOKEN = /^rt\d+\./;

/** The thread with this id, or the thread of a valid token whose request is still open at the point of the token. */
export async function targetOf(threadIdOrToken: string, reading: Reading): Promise<Target> {
  if (typeof threadIdOrToken !== "string" || !TOKEN.test(threadIdOrToken))
    return { threadId: threadIdOrToken, requestId: undefined, agent: undefined };
  const { store, ports } = reading;
  const { token, agent } = await verified(threadIdOrToken, reading);
  const { threadId, state } = token;
  if (token.thread !== undefined) throw carriesItsRun();
  const stored = await loadAgent(store, threadId, await settingsFor(agent, { ports }), ports);
  if (stored.thread.rev === 0) throw threadNotFound(threadId);
  checkNotSuperseded(stored, token);
  return { threadId, requestId: state.requestId, agent: agent.name };
}

/** The codes of a valid token of another agent. */
const OF_ANOTHER = ["invalid_token_signature", "token_config_mismatch"];

/** The token, verified by the agent that minted it. */
async function verified(
  text: string,
  reading: Reading,
): Promise<{ readonly token: RunToken; readonly agent: AnyAgent }> {
  let refused: unknown;
  for (const agent of reading.agents) {
    try {
      return { token: await readToken(text, agent, reading), agent };
    } catch (error) {
      if (!TokenError.isInstance(error) || !OF_ANOTHER.includes(error.code)) throw error;
      refused = error.code === "token_config_mismatch" ? error : (refused ?? error); // the more specific error
    }
  }
  throw refused;
}

function carriesItsRun(): TokenError {
  const message = "This token carries its run, which no thread of this host has. Continue it with react.continue.";
  return new TokenError({ code: "invalid_token_state", path: "state.threadRef", message });
}
