import type { Part } from "../../thread/message.ts";
import { type Block, isAssistant } from "../history/block.ts";
import type { History } from "../history/history.ts";
import type { Settings } from "../input/settings.ts";
import type { Segment } from "../projection.ts";
import type { Front } from "../render/front.ts";
import type { Piece } from "../render/piece.ts";
import { rulesOf } from "../rules.ts";
import { Builder, type Built, inOrder } from "./builder.ts";
import type { Chain } from "./chain.ts";
import type { Engine } from "./engine.ts";

/** The messages of a window. */
export interface Assembly extends Built {
  readonly headSeqs: readonly number[];
  /** Entries of the running turn whose thinking is kept although earlier messages have changed. */
  readonly thinkingStale: readonly number[];
}

/** Where the window starts, and how much is kept of the newest results if they do not fit. */
export interface Shown {
  readonly start: number;
  /** The block whose results are shortened if it does not fit. */
  readonly newest: number;
  readonly shrunk: ReadonlyMap<number, number> | undefined;
}

/** Builds the messages from first to last, because whether thinking is kept depends on all messages before it. */
export function assemble(engine: Engine, settings: Settings, front: Front, shown: Shown, before?: Chain): Assembly {
  const { history, costs } = engine;
  const { start, newest, shrunk } = shown;
  const { rev } = engine.renderOptions;
  const running = rulesOf(settings.rules).keepsRunningThinking ? runningFrom(history) : history.blocks.length;
  const thinkingStale: number[] = [];
  const builder = new Builder(settings, before);
  if (front.system !== undefined) builder.add(front.system);
  if (front.summary !== undefined) builder.add(front.summary);
  const head = costs.headOf(start);
  for (const index of head) builder.add(costs.piece(index, { head: true }), history.blocks[index]);
  const segmentAt = (index: number): Segment => ((history.blocks[index]?.seq ?? -1) >= rev ? "pending" : "history");
  if (costs.needsStandIn(start)) builder.standIn(costs.standIn, segmentAt(start));
  for (let index = start; index < history.blocks.length; index++) {
    if (index > start && costs.hasGapBefore(index)) builder.standIn(costs.standIn, segmentAt(index));
    const block = history.blocks[index];
    const own = costs.variantFrom(start, index);
    const variant = index === newest && shrunk !== undefined ? { ...own, shrunk } : own;
    const piece = costs.piece(index, variant);
    const isStale = mayLoseThinking(settings, block, piece) && !shownFrom(block).has(builder.fingerprint);
    const loses = isStale && index < running;
    if (isStale && !loses) thinkingStale.push(...keptFrom(block, engine));
    builder.add(loses ? costs.piece(index, { ...variant, withoutThinking: true }) : piece, block);
  }
  builder.trimEnd();
  return {
    ...builder.result(),
    headSeqs: head.map((index) => history.blocks[index]?.seq ?? -1),
    thinkingStale: inOrder(thinkingStale),
  };
}

/**
 * The first block of the running turn: the one after the last answer. A user message after results belongs to it, because
 * Anthropic reads both as one message and still requires the thinking of the earlier calls.
 */
function runningFrom({ blocks }: History): number {
  return blocks.findLastIndex(({ type }) => type === "answer") + 1;
}

/** With "auto", thinking is kept only if its call was shown the same messages before it. */
function mayLoseThinking({ policy }: Settings, block: Block | undefined, { messages: [message] }: Piece): boolean {
  if (policy.thinking !== "auto" || !isAssistant(block) || typeof message?.content !== "object") return false;
  return message.content.some(({ type }) => type === "thinking");
}

/** The entries of a block whose thinking is shown. */
function keptFrom(block: Block | undefined, { renderOptions }: Engine): readonly number[] {
  if (!isAssistant(block)) return [];
  const isKept = (part: Part): boolean => part.type === "thinking" && renderOptions.canKeep(part);
  return block.items.flatMap(({ seq, content }) => (typeof content !== "string" && content.some(isKept) ? [seq] : []));
}

function shownFrom(block: Block | undefined): ReadonlySet<string | undefined> {
  return new Set(isAssistant(block) ? block.items.flatMap(({ fingerprint }) => fingerprint ?? []) : []);
}
