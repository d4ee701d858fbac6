import type { Message } from "heddle";
import type { Variant } from "../peers/projection/peer.ts";
import { type FaultCounts, faultsOf } from "./faults.ts";
import { listsAt } from "./limit.ts";
import { parallelCalls } from "./sessions.ts";
import { tokensOf } from "./tokens.ts";

/** Every limit of a sweep over a conversation of parallel calls. */
export interface IllegalJob {
  readonly table: "illegal";
  readonly turns: number;
  /** How many budgets, the greatest of them all of the conversation. */
  readonly budgets: number;
}

export interface IllegalNumbers extends FaultCounts {
  readonly lists: number;
  /** Limits for which it made no list, but an error. */
  readonly refused: number;
  /** Lists that cost more than their budget by heddle's heuristic; undefined when there is no budget. */
  readonly over: number | undefined;
}

export async function measureIllegal(variant: Variant, { turns, budgets }: IllegalJob): Promise<IllegalNumbers> {
  const messages = parallelCalls(turns);
  // The model is asked after the last ask and, with an answer left out, after the last results.
  const lengths = [messages.findLastIndex(({ role }) => role === "user") + 1, messages.length - 1];
  const lists: (readonly Message[])[] = [];
  let refused = 0;
  let over = 0;
  const items = variant.counts === "items";
  for (const limit of items ? steps(messages.length, messages.length) : steps(tokensOf(messages), budgets)) {
    for (const list of await listsAt(variant, messages, lengths, limit)) {
      if (list === undefined) refused += 1;
      else {
        lists.push(list);
        if (!items && tokensOf(list) > limit) over += 1;
      }
    }
  }
  return { lists: lists.length, ...faultsOf(lists), refused, over: items ? undefined : over };
}

/** So many numbers, evenly from 0 to `most`, without 0. */
function steps(most: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => Math.round((most * (index + 1)) / count));
}
