import type { ReactSettings } from "../../agent/react/settings.ts";
import type { AppendResult } from "../../stores/port.ts";
import { longerTail } from "../../stores/project-from-store.ts";
import type { Entry, EntryInput } from "../../thread/entry.ts";
import type { Effect, LiveSignal } from "../live/signal.ts";
import type { Holder } from "../session/holder.ts";
import { caughtUp, isAmple, loadAgent, shortened } from "../session/load.ts";
import { retryStore } from "../session/store-retry.ts";
import type { Scene } from "./scene.ts";

type StoreEffect = Extract<Effect, { readonly type: "append" | "catch_up" | "load" | "keep" | "restore" | "shorten" }>;

/** Reads or writes what other signals wait for. */
export async function answerOf(
  effect: StoreEffect,
  settings: ReactSettings,
  scene: Scene,
  holder: Holder | undefined,
): Promise<LiveSignal> {
  const { store, ports, kept, threadId } = scene;
  const { id } = effect;
  switch (effect.type) {
    case "append":
      return { type: "appended", id, result: await append(scene, holder?.epoch, effect) };
    case "catch_up":
      return { type: "caught_up", id, agent: await retryStore(ports, () => caughtUp(store, effect.agent, ports)) };
    case "load": {
      const { thread: tail, error } = effect;
      const { thread, requests } = await retryStore(ports, () => longerTail(store, tail, error));
      return { type: "loaded", id, thread, isAmple: isAmple(thread, tail, error, requests) };
    }
    case "keep":
      await kept.keep(effect.operation);
      return { type: "kept", id };
    case "restore": {
      if (effect.confirm) await holder?.confirm();
      const agent = await loadAgent(store, threadId, settings, ports);
      return { type: "restored", id, agent, operation: await kept.operation() };
    }
    case "shorten":
      return { type: "shortened", id, agent: await shortened(store, effect.agent) };
    default:
      return effect satisfies never;
  }
}

/** Makes the entries of a decision durable. They carry their ids, so that appending them again is safe. */
export function append(
  { store, ports, threadId }: Pick<Scene, "store" | "ports" | "threadId">,
  epoch: number | undefined,
  { before, after, metadata }: Pick<Extract<Effect, { type: "append" }>, "before" | "after" | "metadata">,
): Promise<AppendResult> {
  const { rev: expectedRev } = before.thread;
  const entries = after.thread.slice(expectedRev, after.thread.lastSeq).map(inputOf);
  const options = { epoch, expectedRev, ...(Object.keys(metadata).length > 0 && { metadata }) };
  return retryStore(ports, () => store.append(threadId, entries, options));
}

/** An operation or a setting is the same one whenever it is tried, so its time is the store's. */
function inputOf({ seq: _seq, at, ...entry }: Entry): EntryInput {
  return entry.kind === "ai_context_operation" || entry.kind === "ai_setting" ? entry : { ...entry, at };
}
