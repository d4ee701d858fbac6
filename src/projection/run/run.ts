import { measureOfJson } from "../../lanes/measure.ts";
import type { Entry } from "../../thread/entry.ts";
import type { Thread } from "../../thread/thread.ts";
import { pendingItems } from "../input/pending.ts";
import type { Settings } from "../input/settings.ts";
import type { Front } from "../render/front.ts";
import { rulesOf } from "../rules.ts";
import { clearedBefore } from "../window/clearing.ts";
import { decideWindow, type Window } from "../window/decide.ts";
import { type Assembly, assemble } from "./assemble.ts";
import type { Chain } from "./chain.ts";
import type { Engine } from "./engine.ts";
import { overflow, type Shrunk, shrink } from "./overflow.ts";
import { checkTail } from "./tail.ts";

/** The result of one computation, from which `project` and `explain` build their answers. */
export interface Run {
  readonly engine: Engine;
  readonly settings: Settings;
  readonly thread: Thread;
  readonly pending: readonly Entry[];
  readonly front: Front;
  /** Tokens for history and pending together. */
  readonly room: number;
  readonly window: Window;
  readonly assembly: Assembly;
  readonly shrunk: Shrunk | undefined;
  /** The lane's measure including pending items. */
  readonly measure: number;
}

/** The input of a run. */
export interface Question extends Pick<Run, "engine" | "settings" | "thread" | "pending"> {
  readonly before: Chain | undefined;
  /** Whether content that does not fit is an error. `explain` sets false, so that it can show the cause. */
  readonly mustFit: boolean;
}

/** Decides and renders. `tell` reads the result while pending items are still in the history. */
export function run<T>({ engine, settings, thread, pending, before, mustFit }: Question, tell: (run: Run) => T): T {
  return engine.withPending(pendingItems(pending, engine.log), () => {
    const { history, costs, log } = engine;
    const { policy, toolTokens } = settings;
    const measure = pending.reduce((sum, { payload }) => sum + measureOfJson(payload), log.measure);
    costs.clearBefore(clearedBefore(history, policy, measure));
    const front = engine.front(log.systemPrompt ?? settings.systemPrompt);
    const fixed = { system: front.system?.tokens ?? 0, tools: toolTokens, summary: front.summary?.tokens ?? 0 };
    const room = policy.maxInputTokens - policy.reserveOutputTokens - fixed.system - fixed.tools - fixed.summary;
    const { movesByWholeStep } = rulesOf(settings.rules);
    const window = decideWindow(history, costs, policy, { room, measure, movesByWholeStep });
    checkTail(thread, engine, window, room);
    const shrunk = window.fits || policy.overflow === "error" ? undefined : shrink(engine, window.newest, room);
    if (!window.fits && shrunk === undefined && mustFit)
      throw overflow(engine, settings, fixed, { newest: window.newest, room, rev: thread.rev });
    const assembly = assemble(engine, settings, front, { ...window, shrunk: shrunk?.perEnd }, before);
    return tell({ engine, settings, thread, pending, front, room, window, assembly, shrunk, measure });
  });
}
