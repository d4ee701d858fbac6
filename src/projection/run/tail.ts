import type { Thread } from "../../thread/thread.ts";
import { isAssistant } from "../history/block.ts";
import type { Window } from "../window/decide.ts";
import type { Engine } from "./engine.ts";
import { tailTooShort } from "./tail-too-short.ts";

/**
 * The first block of a loaded tail from which on everything is certain: it opens a turn for sure, and what the tail begins
 * with, which may be the rest of an older exchange, lies well before it.
 */
export function firstCertain({ history, log }: Engine): number {
  const { blocks, turns } = history;
  if (log.complete) return 0;
  const partial = blocks.findIndex(isAssistant);
  const firstUser = blocks.findIndex(({ type }) => type === "user");
  const isCertain = (opener: number): boolean => {
    const block = blocks[opener];
    // The first user message may be a steer of a request whose ask is not loaded.
    return (
      partial >= 0 &&
      opener > partial + 1 &&
      (opener > firstUser || (block?.type === "user" && block.item.requestId === undefined))
    );
  };
  return turns.openers.find(isCertain) ?? blocks.length;
}

/** Throws `tail_too_short` when entries before the loaded tail could change the window. */
export function checkTail(thread: Thread, engine: Engine, { first, looked }: Window, room: number): void {
  if (engine.log.complete) return;
  const certain = firstCertain(engine);
  const { blocks, coverage, dropped } = engine.history;
  const edgeIsVague = first > 0 && first < certain;
  // A result without a call right behind a summary's edge may belong to an exchange that the edge cuts.
  const written = coverage.summary?.seq ?? -1;
  const straddles = dropped.some(({ seq, rule }) => rule !== "blank" && seq > coverage.edge && seq < written);
  const isCertain = looked >= certain && looked < blocks.length && !edgeIsVague && !straddles;
  if (isCertain && !engine.log.lacksOrigin) return;
  throw tailTooShort(thread, missingShare(engine, room));
}

/** How many times what is loaded the room would take; half as much again when it is not the room that asks for more. */
function missingShare({ history, costs }: Engine, room: number): number {
  if (history.blocks.length === 0) return 2; // who knows
  const loaded = costs.tokensFrom(0);
  return loaded > 0 && loaded < room ? room / loaded : 1.5;
}
