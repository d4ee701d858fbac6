import type { Message, ToolMessage } from "../../thread/message.ts";
import { type BudgetParts, ProjectionError } from "../error.ts";
import type { Block, Call } from "../history/block.ts";
import type { Settings } from "../input/settings.ts";
import { contentBytes, shortened } from "../render/shorten.ts";
import { firstIndex } from "../search.ts";
import type { Engine } from "./engine.ts";

/** How the results of the newest exchange are shortened. */
export interface Shrunk {
  /** The bytes kept at each end of a result, by slot of its call. */
  readonly perEnd: ReadonlyMap<number, number>;
  readonly results: readonly { readonly seq: number; readonly bytes: number }[];
}

/**
 * Shortens the results of the newest exchange until it fits, the largest first and no more than needed. Undefined if it
 * cannot fit. A result that a marker would make longer is not changed.
 */
export function shrink(engine: Engine, newest: number, room: number): Shrunk | undefined {
  const { history, costs } = engine;
  const block = history.blocks[newest];
  if (block?.type !== "exchange" || block.open <= history.coverage.edge) return undefined;
  const piece = costs.piece(newest, costs.variantFrom(newest, newest));
  const perEnd = new Map<number, number>();
  let excess = costs.tokensFrom(newest) - room;
  for (const { slot, call, message, bytes } of largestFirst(block, piece.messages)) {
    const cut = (end: number): ToolMessage => ({
      ...message,
      content: cutResult(engine, call, end) ?? message.content,
    });
    const saved = (end: number): number => tokensOf(engine, message) - tokensOf(engine, cut(end));
    if (contentBytes(cut(0).content) >= bytes) continue;
    const end = saved(0) < excess ? 0 : longestThat((end) => saved(end) >= excess, bytes);
    perEnd.set(slot, end);
    excess -= saved(end);
    if (excess <= 0) return { perEnd, results: resultsOf(block, perEnd) };
  }
  return undefined;
}

/** The largest number for which `holds`, given that 0 does. Tries small ones first, because the kept part is often small. */
function longestThat(holds: (end: number) => boolean, limit: number): number {
  let far = 1;
  while (far < limit && holds(far)) far *= 2;
  return firstIndex(Math.floor(far / 2), Math.min(far, limit), (end) => !holds(end)) - 1;
}

function cutResult({ renderOptions }: Engine, { result }: Call, end: number): ToolMessage["content"] | undefined {
  const limit = Math.min(end, renderOptions.bytesPerEnd || Number.POSITIVE_INFINITY);
  return result && shortened(result.content, result.seq, limit);
}

function tokensOf({ renderOptions }: Engine, message: Message): number {
  return renderOptions.tokensOf(message);
}

function resultsOf({ calls }: Block, kept: ReadonlyMap<number, number>): Shrunk["results"] {
  return [...kept].map(([slot, perEnd]) => ({ seq: calls[slot]?.result?.seq ?? -1, bytes: 2 * perEnd }));
}

/** The results of an exchange as they are shown. */
function largestFirst({ calls }: Block, messages: readonly Message[]) {
  return calls
    .flatMap((call, slot) => {
      const message = messages[slot + 1];
      if (message?.role !== "tool" || call.result === undefined) return [];
      return [{ slot, call, message, bytes: contentBytes(message.content) }];
    })
    .sort((a, b) => b.bytes - a.bytes || a.slot - b.slot);
}

/** An error that names what does not fit, its largest part, and the remedy. */
export function overflow(
  engine: Engine,
  settings: Settings,
  fixed: BudgetParts,
  { newest, room, rev }: { readonly newest: number; readonly room: number; readonly rev: number },
): ProjectionError {
  const { blocks } = engine.history;
  const { policy, tools } = settings;
  const isPending = room >= 0 && (blocks.at(-1)?.seq ?? -1) >= rev;
  const own = engine.costs.tokensFrom(newest);
  const parts = { ...fixed, [isPending ? "pending" : "newest"]: own };
  const spent = Object.values(fixed).reduce((sum, tokens) => sum + tokens, 0);
  // If system prompt, tools and summary alone exceed the budget, the numbers cover everything.
  const [needed, available] = room < 0 ? [spent + own, spent + room] : [own, room];
  const what = isPending
    ? "The pending items"
    : room < 0
      ? "The system prompt, the tools and the summary"
      : "The newest exchange with its user message";
  const [largest, tokens] = Object.entries(parts).reduce((most, part) => (part[1] > most[1] ? part : most));
  const specs = largest === "tools" ? ` in ${tools.length} specs` : "";
  const canShrink =
    policy.overflow === "error" && room >= 0 && blocks[newest]?.calls.some(({ result }) => result !== undefined);
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
