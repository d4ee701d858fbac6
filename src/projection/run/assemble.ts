import { type Block, isAssistant } from "../history/block.ts";
import type { Settings } from "../input/settings.ts";
import type { Segment } from "../projection.ts";
import type { Front } from "../render/front.ts";
import type { Piece } from "../render/piece.ts";
import { Builder, type Built } from "./builder.ts";
import type { Chain } from "./chain.ts";
import type { Engine } from "./engine.ts";

/** What a window comes to. */
export interface Assembly extends Built {
  readonly headSeqs: readonly number[];
}

/** Where the window starts, and how much is kept of the newest results when they would not fit. */
export interface Shown {
  readonly start: number;
  /** The block whose results are shortened when it would not fit. */
  readonly newest: number;
  readonly shrunk: ReadonlyMap<number, number> | undefined;
}

/** Puts the messages together, from the first to the last: whether thinking is kept depends on all that stands before it. */
export function assemble(engine: Engine, settings: Settings, front: Front, shown: Shown, before?: Chain): Assembly {
  const { history, costs } = engine;
  const { start, newest, shrunk } = shown;
  const { rev } = engine.renderOptions;
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
    const losesThinking = mayLoseThinking(settings, block, piece) && !shownFrom(block).has(builder.fingerprint);
    builder.add(losesThinking ? costs.piece(index, { ...variant, withoutThinking: true }) : piece, block);
  }
  builder.trimEnd();
  return { ...builder.result(), headSeqs: head.map((index) => history.blocks[index]?.seq ?? -1) };
}

/** With "auto", thinking is kept only where its call saw the very same messages. */
function mayLoseThinking({ policy }: Settings, block: Block | undefined, { messages: [message] }: Piece): boolean {
  if (policy.thinking !== "auto" || !isAssistant(block) || typeof message?.content !== "object") return false;
  return message.content.some(({ type }) => type === "thinking");
}

function shownFrom(block: Block | undefined): ReadonlySet<string | undefined> {
  return new Set(isAssistant(block) ? block.items.flatMap(({ fingerprint }) => fingerprint ?? []) : []);
}
