import fc from "fast-check";
import { Thread } from "heddle";
import { inLane, note, replace, summary, switchTo } from "heddle/testing";
import { expect, test } from "vitest";
import { measureOf } from "../../../src/lanes/measure.ts";
import { advance, NO_LANES } from "../../../src/lanes/track.ts";
import { naiveBase } from "../../../src/testing/contract/naive-base.ts";
import type { Entry, EntryInput } from "../../../src/thread/entry.ts";

const lane = fc.constantFrom("default", "a", "b", "__proto__");
const place = fc.nat({ max: 14 });
const entry: fc.Arbitrary<EntryInput> = fc.oneof(
  fc.string({ unit: "grapheme" }).map((text) => note({ text })),
  place.map((toSeq) => summary(0, toSeq)),
  fc.tuple(lane, place).map(([name, toSeq]) => inLane(name, summary(0, toSeq))),
  fc.tuple(lane, fc.option(place, { nil: undefined })).map(([name, baseSeq]) => replace(name, baseSeq)),
  lane.map((name) => switchTo(name)),
);

test("the reference fold of the contract equals the fold of the stores on any thread", () => {
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 14 }), (inputs) => {
      const entries = Thread.create().append(inputs).toArray();
      expect(folded(entries)).toEqual(naiveBase(entries));
    }),
  );
});

/** What a store knows after these entries, with seqs turned into entries. */
function folded(entries: readonly Entry[]) {
  const { active, malformed, lanes } = entries.reduce(
    (track, entry) => advance(track, entry, measureOf(JSON.stringify(entry.payload))),
    NO_LANES,
  );
  const bases = Object.entries(lanes).map(([name, { measure, replaceSeq, summarySeq }]) => [
    name,
    {
      measure,
      ...(replaceSeq !== undefined && { replace: entries[replaceSeq] }),
      ...(summarySeq !== undefined && { summary: entries[summarySeq] }),
    },
  ]);
  return { activeLane: active, ...(malformed && { malformed }), lanes: Object.fromEntries(bases) };
}
