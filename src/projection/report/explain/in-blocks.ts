import { type Block, isAssistant, isOfContext } from "../../history/block.ts";
import type { EntryRule, EntryStatus } from "../../projection.ts";
import type { Run } from "../../run/run.ts";
import type { Fate } from "./fate.ts";

/** Entries that are part of a block. */
export function* fatesOfBlocks(run: Run): Iterable<[number, Fate]> {
  const { engine, assembly, thread } = run;
  const { blocks } = engine.history;
  const places = new Map(assembly.blocks.map((block, index) => [block, assembly.places[index]]));
  for (const [index, block] of blocks.entries()) {
    if (isOfContext(block) && block.calls.every(({ result }) => result?.index !== undefined)) continue;
    const message = places.get(block);
    const fate = fateOfBlock(run, index, message !== undefined);
    for (const { seq, at, tokens, isRepaired, isCleared } of partsOf(run, index, block, message)) {
      if (seq >= thread.rev) continue;
      const its = isCleared && message !== undefined ? CLEARED : isRepaired && message !== undefined ? REPAIRED : fate;
      yield [seq, { ...its, tokens, ...(message !== undefined && { message: message + at }) }];
    }
  }
}

const CLEARED = { status: "cleared", rule: "result_cleared" } as const;
const REPAIRED = { status: "repaired", rule: "call_interrupted" } as const;

function fateOfBlock(
  { engine, window }: Run,
  index: number,
  isShown: boolean,
): { status: EntryStatus; rule: EntryRule } {
  if (isShown)
    return index >= window.start
      ? { status: "shown", rule: "in_window" }
      : { status: "shown", rule: "head_of_cut_request" };
  return (engine.history.blocks[index]?.open ?? -1) <= engine.history.coverage.edge
    ? { status: "summarised", rule: "covered_by_summary" }
    : { status: "cut", rule: "before_window" };
}

interface PartOfBlock {
  readonly seq: number;
  /** The index of its message in the block. */
  readonly at: number;
  readonly tokens: number;
  readonly isRepaired: boolean;
  readonly isCleared: boolean;
}

/** The entries of a block. A message counts for its first entry, a synthetic result for the entry of its call. */
function partsOf(run: Run, index: number, block: Block, message: number | undefined): readonly PartOfBlock[] {
  const tokens = tokensOf(run, index, block, message);
  const cleared = new Set(block.calls.length === 0 ? [] : run.assembly.cleared);
  const part = { isRepaired: false, isCleared: false };
  if (!isAssistant(block)) return [{ seq: block.seq, at: 0, tokens: tokens[0] ?? 0, ...part }];
  const parts = new Map<number, PartOfBlock>();
  const add = (seq: number, at: number, its: Partial<PartOfBlock>, cost: number): void => {
    const before = parts.get(seq) ?? { seq, at, tokens: 0, ...part };
    parts.set(seq, { ...before, ...its, tokens: before.tokens + cost });
  };
  for (const [at, { seq }] of block.items.entries()) add(seq, 0, {}, at === 0 ? (tokens[0] ?? 0) : 0);
  for (const [slot, { by, result }] of block.calls.entries()) {
    const cost = tokens[slot + 1] ?? 0;
    if (result === undefined) add(by.seq, 0, { isRepaired: true }, cost);
    else add(result.seq, slot + 1, { isCleared: cleared.has(result.seq) }, cost);
  }
  return [...parts.values()].filter(({ seq }) => !isOfContext(block) || seq !== block.seq);
}

/** The tokens of each message of a block, shown or not. */
function tokensOf(
  { engine, assembly }: Run,
  index: number,
  block: Block,
  message: number | undefined,
): readonly number[] {
  const messages = 1 + block.calls.length;
  if (message !== undefined) return assembly.provenance.slice(message, message + messages).map(({ tokens }) => tokens);
  if (block.type === "unreadable") return [];
  const piece = engine.costs.piece(index, { cleared: index < engine.costs.clearedBefore });
  return piece.provenance.map(({ tokens }) => tokens);
}
