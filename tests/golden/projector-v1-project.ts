import type { ProjectionInput } from "../../src/projection/input/input.ts";
import { project } from "../../src/projection/projector.ts";
import type { Projection } from "../../src/projection/projection.ts";
import type { ProjectorName } from "../../src/projection/rules.ts";
import type { EntryInput } from "../../src/thread/entry.ts";
import { Thread } from "../../src/thread/thread.ts";
import { calibrated } from "../../src/tokens/calibrate.ts";
import { heuristic } from "../../src/tokens/counter.ts";

/** An input as plain JSON: the entries of its thread, and the factor of its counter. */
export interface GoldenInput extends Omit<ProjectionInput, "thread" | "readers" | "tokenCounter" | "previous"> {
  readonly name: string;
  readonly entries: readonly EntryInput[];
  readonly calibration?: number;
}

/** What the model sees of it. */
export function projectGolden(
  { name: _, entries, calibration, ...input }: GoldenInput,
  rules: ProjectorName = "heddle/1",
): Projection {
  const tokenCounter = calibration === undefined ? heuristic : calibrated(heuristic, calibration);
  return project({ ...input, rules, thread: Thread.create().append(entries), tokenCounter });
}
