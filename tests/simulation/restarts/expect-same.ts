import { expect } from "vitest";
import type { Live } from "../../../src/runtime/live/live.ts";
import type { Difference } from "./differences.ts";
import { exceptionOf, isSupplied } from "./exceptions.ts";
import { type OpenStore, playWithRestarts } from "./story.ts";

/** The exceptions that some story of this process had use for. */
export const used = new Set<string>();

/** Plays a story and restarts it after each commit. Resolves to the values after the commits. */
export async function expectSameAfterRestarts(seed: number, open?: OpenStore): Promise<readonly Live[]> {
  const { lives, folded, resumed } = await playWithRestarts(seed, open);
  for (const difference of folded) used.add(exceptionOf(difference) ?? "");
  const wrong = [...folded.filter((one) => exceptionOf(one) === undefined), ...resumed.filter(isSupplied)];
  expect(wrong.map(inShort), `HEDDLE_SEED=${seed}`).toEqual([]);
  return lives;
}

function inShort({ path, before, after, live }: Difference): string {
  return `after #${live.agent.thread.lastSeq}, ${path}: ${before} is ${after}`;
}
