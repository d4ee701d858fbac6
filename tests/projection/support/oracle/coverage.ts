import type { ContextPolicy } from "heddle";
import { isExchange, openOf, type Structure, structureOf, type Walked } from "./blocks.ts";
import type { Folded, Place } from "./fold.ts";
import { reachOf } from "./log.ts";
import type { Item } from "./read.ts";

export type Reader = (place: Place) => Item | undefined;

export function structured(places: readonly Place[], read: Reader): Structure {
  return structureOf(
    places.flatMap((place, index): Walked[] => {
      const before = places[index - 1];
      const afterContext = before?.item !== undefined && place.item === undefined;
      const closes = place.item === undefined && (place.kind === "summary" || place.replaces);
      const item = read(place);
      return [...(afterContext || closes ? (["closing"] as const) : []), ...(item === undefined ? [] : [item])];
    }),
  );
}

export interface Coverage {
  /** Blocks that open up to here are covered. */
  readonly edge: number;
  /** Each time it moved: to where, and the last block there was then. */
  readonly moves: readonly { readonly edge: number; readonly newest: number }[];
  /** The summary whose text is shown. */
  readonly shown?: Place;
}

/** Not -1: messages of a context that replaced nothing stand at -1. */
const NOTHING = Number.NEGATIVE_INFINITY;

/** How far the summaries of a lane reach, one after the other, as each of them found the blocks when it was written. */
export function coverageOf({ places }: Folded, policy: ContextPolicy, read: Reader): Coverage {
  if (policy.summarization === "none" || !policy.includeKinds.includes("summary")) return { edge: NOTHING, moves: [] };
  const summaries = places.filter(({ standing }) => standing);
  let edge = NOTHING;
  const moves: { edge: number; newest: number }[] = [];
  for (const summary of summaries) {
    const reach = reachIn(summary);
    if (reach <= edge) continue;
    const known = places.filter((place) => place.item !== undefined || place.seq < summary.seq);
    const { blocks } = structured(known, read);
    const cutThrough = blocks.filter((block) => {
      const results = block.calls.flatMap(({ result }) => result ?? []);
      const entries = [...block.members, ...results];
      return (
        isExchange(block) &&
        openOf(block) > edge &&
        openOf(block) <= reach &&
        entries.some(({ place }) => place.open > reach)
      );
    });
    const moved = Math.max(edge, cutThrough.length === 0 ? reach : Math.min(...cutThrough.map(openOf)) - 1);
    if (moved > edge) moves.push({ edge: moved, newest: blocks.length - 1 });
    edge = moved;
  }
  const furthest = Math.max(...summaries.map(reachIn));
  const shown = summaries.findLast((summary) => reachIn(summary) === furthest);
  return { edge, moves, ...(shown && { shown }) };
}

/** The last block there was when one came to be covered. */
export function newestWhenCovered(moves: Coverage["moves"], open: number): number {
  return moves.find(({ edge }) => edge >= open)?.newest ?? -1;
}

function reachIn(summary: Place): number {
  return reachOf(summary) ?? -1;
}
