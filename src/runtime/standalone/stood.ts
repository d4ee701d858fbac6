import type { ReactAgent } from "../../agent/react/agent.ts";
import { restore } from "../../agent/react/restore.ts";
import { TokenError } from "../../checkpoint/error.ts";
import { StoreError, threadNotFound } from "../../stores/errors.ts";
import { loadMissing } from "../../stores/project-from-store.ts";
import type { Thread } from "../../thread/thread.ts";
import { settingsFor } from "../server/settings.ts";
import type { Place } from "./place.ts";
import { checkBasis, type RunToken } from "./run-token.ts";

/** Entries read at first, as for a server. */
const FIRST = 200;

/** The agent as it stood when a token was minted; nothing is claimed or written. */
export async function stoodAt(place: Place, token: RunToken): Promise<ReactAgent> {
  const { agent, store, ports } = place;
  const settings = await settingsFor(agent);
  let thread = token.thread ?? (await loaded(place, token));
  for (;;) {
    try {
      const stood = restore(settings, thread, ports);
      checkBasis(stood, token);
      return stood;
    } catch (error) {
      thread = await loadMissing(store, thread, error);
    }
  }
}

async function loaded({ store, isOwn }: Place, { threadId, rev }: RunToken): Promise<Thread> {
  if (isOwn) throw noStore();
  try {
    const thread = await store.load(threadId, { last: FIRST, upToSeq: rev - 1 });
    if (thread !== undefined) return thread;
  } catch (error) {
    if (!StoreError.isInstance(error) || error.code !== "seq_out_of_range") throw error;
  }
  throw threadNotFound(threadId);
}

function noStore(): TokenError {
  const message = "This token refers to a thread in a store. Pass that store: { store }.";
  return new TokenError({ code: "invalid_options", path: "store", message });
}
