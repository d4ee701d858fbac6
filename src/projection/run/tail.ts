import type { Thread } from "../../thread/thread.ts";
import { isAssistant } from "../history/block.ts";
import type { Window } from "../window/decide.ts";
import type { Engine } from "./engine.ts";
import { tailTooShort } from "./tail-too-short.ts";

/**
 * The first block of a loaded tail from which on everything is certain. It certainly opens a turn, and lies after the
 * start of the tail, which may be the rest of an older exchange.
 */
export function firstCertain({ history, log }: Engine): number {
  const { blocks, turns } = history;
  if (log.complete) return 0;
  const partial = blocks.findIndex(isAssistant);
  const firstUser = blocks.findIndex(({ type }) => type === "user");
  const isCertain = (opener: number): boolean => {
    const block = blocks[opener];
    // The first user message may be a steer of a request that began before the tail.
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
  // A result without a call just after a summary's edge may belong to an exchange that the edge cuts.
  const written = coverage.summary?.seq ?? -1;
  const straddles = dropped.some(({ seq, rule }) => rule !== "blank" && seq > coverage.edge && seq < written);
  const isCertain = looked >= certain && looked < blocks.length && !edgeIsVague && !straddles;
  if (isCertain && !engine.log.lacksOrigin) return;
  throw tailTooShort(thread, missingShare(engine, room));
}

/** How many times the loaded entries fit into the room. 1.5 if the room is already full. */
function missingShare({ history, costs }: Engine, room: number): number {
  if (history.blocks.length === 0) return 2; // nothing is known of the sizes
  const loaded = costs.tokensFrom(0);
  return loaded > 0 && loaded < room ? room / loaded : 1.5;
}
