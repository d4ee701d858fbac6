import { type BudgetParts, ProjectionError } from "../error.ts";
import type { Block } from "../history/block.ts";
import type { Settings } from "../input/settings.ts";
import { type Piece, renderBlock } from "../render/piece.ts";
import { contentBytes } from "../render/shorten.ts";
import { firstIndex } from "../search.ts";
import type { Engine } from "./engine.ts";

/** The newest block with its results shortened. */
export interface Shrunk {
  /** The bytes kept at each end of a result, by slot. */
  readonly perEnd: ReadonlyMap<number, number>;
  readonly results: readonly { readonly seq: number; readonly bytes: number }[];
}

/**
 * Shortens the results of the newest block, the largest first and no more than needed, until it fits; undefined when it
 * never does. A result that a marker would only make longer stays as it is.
 */
export function shrinkNewest(engine: Engine, room: number): Shrunk | undefined {
  const { history, costs } = engine;
  const newest = history.blocks.length - 1;
  const block = history.blocks[newest];
  if (block?.type !== "exchange" || block.open <= history.coverage.edge) return undefined;
  const variant = costs.variantFrom(newest, newest);
  const asItIs = costs.piece(newest, variant);
  const others = costs.tokensFrom(newest) - asItIs.tokens;
  const kept = new Map<number, number>();
  const renderWith = (slot: number, bytesPerEnd: number): Piece => {
    kept.set(slot, bytesPerEnd);
    return renderBlock(block, { ...variant, shrunk: kept }, engine.renderOptions);
  };
  const fits = (piece: Piece): boolean => others + piece.tokens <= room;
  for (const { slot, bytes } of largestFirst(asItIs)) {
    const isTooLong = (perEnd: number): boolean => resultBytes(renderWith(slot, perEnd), slot) >= bytes;
    const longest = firstIndex(0, Math.floor(bytes / 2), isTooLong) - 1;
    if (longest < 0) {
      kept.delete(slot);
      continue;
    }
    const perEnd = Math.max(0, firstIndex(0, longest + 1, (perEnd) => !fits(renderWith(slot, perEnd))) - 1);
    if (fits(renderWith(slot, perEnd))) return { perEnd: kept, results: resultsOf(block, kept) };
  }
  return undefined;
}

function resultsOf({ calls }: Block, kept: ReadonlyMap<number, number>): Shrunk["results"] {
  return [...kept].map(([slot, perEnd]) => ({ seq: calls[slot]?.result?.seq ?? -1, bytes: 2 * perEnd }));
}

function resultBytes({ messages }: Piece, slot: number): number {
  const message = messages[slot + 1];
  return message === undefined ? 0 : contentBytes(message.content);
}

function largestFirst(piece: Piece): readonly { slot: number; bytes: number }[] {
  return piece.provenance
    .slice(1)
    .map(({ rule }, slot) => ({ slot, rule, bytes: resultBytes(piece, slot) }))
    .filter(({ rule, bytes }) => bytes > 0 && rule !== "interrupted")
    .sort((a, b) => b.bytes - a.bytes || a.slot - b.slot);
}

/** What does not fit, what takes the most of it, and what can be done. */
export function overflow(
  engine: Engine,
  settings: Settings,
  fixed: BudgetParts,
  room: number,
  rev: number,
): ProjectionError {
  const { blocks } = engine.history;
  const { policy, tools } = settings;
  const newest = blocks.at(-1);
  const isPending = room >= 0 && newest !== undefined && newest.seq >= rev;
  const own = engine.costs.tokensFrom(Math.max(0, blocks.length - 1));
  const parts = { ...fixed, [isPending ? "pending" : "newest"]: own };
  const spent = Object.values(fixed).reduce((sum, tokens) => sum + tokens, 0);
  // Where system prompt, tools and summary take everything, it is the whole that does not fit.
  const [needed, available] = room < 0 ? [spent + own, spent + room] : [own, room];
  const what = isPending
    ? "What is pending"
    : room < 0
      ? "The system prompt, the tools and the summary"
      : "The newest exchange with its ask";
  const [largest, tokens] = Object.entries(parts).reduce((most, part) => (part[1] > most[1] ? part : most));
  const specs = largest === "tools" ? ` in ${tools.length} specs` : "";
  const canShrink =
    policy.overflow === "error" && room >= 0 && newest?.calls.some(({ result }) => result !== undefined);
  const message =
    `${what} cannot be shown: ${inWords(needed)} tokens needed, ${inWords(available)} available. ` +
    `The largest part is ${largest}: ${inWords(tokens)} tokens${specs}. ` +
    `Raise maxInputTokens or shorten that part${canShrink ? ', or set overflow: "shrink" to shorten results' : ""}.`;
  const code = isPending ? "pending_overflow" : "budget_overflow";
  return new ProjectionError({ code, message, needed, available, parts });
}

function inWords(tokens: number): string {
  return String(tokens).replace(/\B(?=(\d{3})+$)/g, ",");
}
