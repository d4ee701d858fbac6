import fc from "fast-check";
import { expect, test } from "vitest";
import { LaneBook, NO_ENTRIES, readActiveState, readRecord } from "../../src/lanes/lane-book.ts";
import { advance, laneOf, NO_LANES, stateOf, withMeasure } from "../../src/lanes/track.ts";
import { namedLane, readBranch } from "../../src/thread/lane-operations.ts";
import { type Measured, trackOf } from "./oracle.ts";

const name = fc.constantFrom("default", "side", "constructor", "__proto__", "");
const anything = fc.oneof(fc.constantFrom(null, true, "1", 1.5, [], {}), fc.string());
const lane = fc.oneof({ weight: 6, arbitrary: name }, { weight: 3, arbitrary: fc.constant(undefined) }, anything);
const place = fc.oneof({ weight: 6, arbitrary: fc.integer({ min: -3, max: 15 }) }, fc.constant(undefined), anything);
const type = fc.constantFrom("replace", "switch", "replace", "switch", "other", null);

const context = fc.oneof(
  { weight: 6, arbitrary: fc.constant({ id: "c", entries: [] }) },
  fc.constantFrom({ entries: null }, {}),
  anything,
);
const operation = fc.record(
  {
    type,
    reason: fc.constantFrom("manual", "system", "why"),
    baseSeq: place,
    from: name,
    atSeq: place,
    resultContext: context,
  },
  { requiredKeys: ["type", "reason", "resultContext"] },
);

const payload = fc.record(
  {
    contextRef: lane,
    toSeq: place,
    content: fc.oneof({ weight: 6, arbitrary: fc.constant("S") }, anything),
    operation: fc.oneof({ weight: 6, arbitrary: operation }, anything),
  },
  { requiredKeys: [] },
);
const kind = fc.constantFrom("message", "summary", "ai_context_operation", "summary", "ai_context_operation", "note");
const entry = fc.record({ kind, payload, measure: fc.nat({ max: 1000 }) });
const log = fc
  .array(entry, { maxLength: 16 })
  .map((entries) => entries.map((entry, seq): Measured => ({ ...entry, seq }) as Measured));

test("a track that advances entry by entry is the one that the rules give for the whole list", () => {
  fc.assert(
    fc.property(log, (log) => {
      let track = NO_LANES;
      for (const [index, entry] of log.entries()) {
        track = advance(track, entry, entry.measure);
        expect(track).toEqual(trackOf(log.slice(0, index + 1)));
      }
      expect(JSON.parse(JSON.stringify(track))).toEqual(track);
    }),
    { numRuns: 500 },
  );
});

test("a book has the state of each lane, and what it writes beside the entries is enough to find it again", () => {
  fc.assert(
    fc.property(log, (log) => {
      const book = new LaneBook(NO_ENTRIES, []);
      const rows = log.map((entry) => ({ seq: entry.seq, ...book.push(entry, entry.measure) }));
      for (const [index, row] of rows.entries()) {
        const { active, malformed, lanes } = trackOf(log.slice(0, index + 1));
        expect(readActiveState(row.state, row.lane)).toEqual({ active, ...(malformed && { malformed }) });
        const recordSeq = row.record === null ? row.recordSeq : row.seq;
        const record = readRecord(rows[recordSeq ?? -1]?.record ?? null);
        expect({ ...record, measure: row.measure }).toEqual(stateOf({ active, lanes }, row.lane));
        expect(row.recordSeq === null).toBe(stateOf(trackOf(log.slice(0, index)), row.lane) === undefined);
      }
      const { lanes } = trackOf(log);
      expect([...book.lanes].sort()).toEqual(Object.keys(lanes).sort());
      for (const lane of book.lanes) {
        const own = rows.filter((row) => row.lane === lane);
        const recordSeq = own.findLast(({ record }) => record !== null)?.seq;
        const expected = {
          firstSeq: own[0]?.seq,
          seq: own.at(-1)?.seq,
          recordSeq,
          record: stateOf(trackOf(log), lane),
        };
        expect(book.tip(lane)).toEqual(expected);
      }
    }),
    { numRuns: 500 },
  );
});

test("a book that knows only the lanes of the next entries writes what a whole one writes", () => {
  fc.assert(
    fc.property(log, log, (before, after) => {
      const whole = new LaneBook(NO_ENTRIES, []);
      for (const entry of before) whole.push(entry, entry.measure);
      const next = after.map((entry, index) => ({ ...entry, seq: before.length + index }));
      const names = new Set([whole.state.active, ...next.flatMap(namesIn)]);
      const tips = [...names].flatMap((lane) => {
        const tip = whole.tip(lane);
        return tip === undefined ? [] : [[lane, tip] as const];
      });
      const part = new LaneBook(whole.state, tips);
      for (const entry of next) expect(part.push(entry, entry.measure)).toEqual(whole.push(entry, entry.measure));
      expect(part.state).toEqual(whole.state);
    }),
    { numRuns: 500 },
  );
});

function namesIn(entry: Measured): readonly string[] {
  return [namedLane(entry), readBranch(entry)?.from].filter((name) => name !== undefined);
}

test("the lane of an entry is the lane that grows by its measure, and only that one", () => {
  fc.assert(
    fc.property(log, entry, (log, next) => {
      const before = trackOf(log);
      const grown = advance(before, { ...next, seq: log.length } as Measured, 1000);
      const lane = laneOf(next as Measured, before);
      expect(stateOf(grown, lane)?.measure).toBe((stateOf(before, lane)?.measure ?? 0) + 1000);
      for (const other of Object.keys(before.lanes).filter((name) => name !== lane)) {
        expect(stateOf(grown, other)).toBe(stateOf(before, other));
      }
    }),
  );
});

test("withMeasure sets one measure and nothing else", () => {
  fc.assert(
    fc.property(log, name, fc.integer({ min: 1, max: 99 }), (log, lane, measure) => {
      const before = trackOf(log);
      const after = withMeasure(before, lane, measure);
      expect(stateOf(after, lane)).toEqual({ ...stateOf(before, lane), measure });
      expect(withMeasure(after, lane, stateOf(before, lane)?.measure ?? 0).active).toBe(before.active);
      for (const other of Object.keys(before.lanes).filter((name) => name !== lane)) {
        expect(stateOf(after, other)).toBe(stateOf(before, other));
      }
    }),
  );
});
