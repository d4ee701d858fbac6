import { ContextPolicy } from "heddle";
import type { ProjectionInput } from "../../../src/projection/input/input.ts";
import { type Block, firstOf, isAnswer, openersOf, openOf, type Structure } from "./oracle/blocks.ts";
import { isAsk } from "./oracle/compose.ts";
import { type Coverage, coverageOf, newestWhenCovered, type Reader, structured } from "./oracle/coverage.ts";
import { fold, type Place } from "./oracle/fold.ts";
import { logOf } from "./oracle/log.ts";
import { itemOf } from "./oracle/read.ts";

interface Known {
  readonly structure: Structure;
  readonly places: readonly Place[];
  readonly edge: number;
  readonly moves: Coverage["moves"];
}

/** What a block is made of, its results too. */
export function entriesOf({ members, calls }: Block): readonly Place[] {
  return [...members, ...calls.flatMap(({ result }) => result ?? [])].map(({ place }) => place);
}

/** What the oracle knows of an input before any window is decided. */
export function knownOf(input: ProjectionInput): Known {
  const policy = ContextPolicy.create(input.policy);
  const { lane, log } = logOf(input);
  const folded = fold(log, lane);
  const read: Reader = (place) => itemOf(place, policy.includeKinds, input);
  const structure = structured(folded.places, read);
  const { edge, moves } = coverageOf(folded, policy, read);
  return { structure, places: folded.places, edge, moves };
}

/**
 * The ask that has no answer yet, and what was steered into it and is new to the model; covered ones only when nothing has
 * answered since.
 */
export function openAsk(input: ProjectionInput): readonly Place[] {
  const { structure, edge, moves } = knownOf(input);
  const { blocks } = structure;
  const opener = openersOf(blocks).at(-1);
  const last = blocks.at(-1);
  if (opener === undefined || last === undefined || isAnswer(last)) return [];
  const isOpen = (block: Block) =>
    openOf(block) > edge || !blocks.slice(Math.max(opener, newestWhenCovered(moves, openOf(block)))).some(isAnswer);
  const users = blocks.slice(opener).filter((block) => block.type === "user" && isOpen(block));
  const ask = users.find((block) => isAsk(firstOf(block).place));
  const answered = blocks.findLastIndex(({ type }) => type === "assistant");
  return users
    .filter((block) => block === ask || blocks.indexOf(block) > answered)
    .map((block) => firstOf(block).place);
}

/** The entries of the thread that a summary stands for. */
export function coveredSeqs(input: ProjectionInput): readonly number[] {
  const { structure, edge } = knownOf(input);
  const covered = structure.blocks.filter((block) => openOf(block) <= edge).flatMap(entriesOf);
  return covered.flatMap((place) => (place.item === undefined && !place.pending ? [place.seq] : []));
}
