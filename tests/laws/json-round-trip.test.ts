import fc from "fast-check";
import { type EntryInput, type JsonObject, type Refs, Thread } from "heddle";
import { expect, test } from "vitest";
import { codePoint } from "../support/code-point.ts";

const unicode = { stringUnit: codePoint } as const;
const text = fc.string({ unit: codePoint });
const key = text.filter((key) => key !== "__proto__");
const proto: fc.Arbitrary<JsonObject> = fc.constantFrom(
  JSON.parse('{"__proto__":{"admin":true}}'),
  JSON.parse('{"in":[{"__proto__":null,"a":1}]}'),
);
const object = fc.oneof(
  { weight: 9, arbitrary: fc.dictionary(text, fc.jsonValue(unicode)) as fc.Arbitrary<JsonObject> },
  proto,
);
const scalar = fc.oneof(
  text,
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.boolean(),
  fc.constant(null),
);
const entry: fc.Arbitrary<EntryInput> = fc.record(
  {
    kind: fc.constantFrom("message", "note", "acme.invoice", "constructor", "__proto__"),
    payload: object,
    refs: fc.dictionary(key, scalar) as fc.Arbitrary<Refs>,
    at: fc.integer(),
    v: fc.integer({ min: 1, max: 9 }),
  },
  { requiredKeys: [] },
);
const entries = fc.array(entry, { maxLength: 6 });

test("a payload and refs come out of a thread byte for byte as they went in", () => {
  fc.assert(
    fc.property(entries, (entries) => {
      const kept = Thread.create().append(entries).toArray();
      expect(kept).toHaveLength(entries.length);
      for (const [index, { payload = {}, refs = {} }] of entries.entries()) {
        expect(JSON.stringify(kept[index]?.payload)).toBe(JSON.stringify(payload));
        expect(JSON.stringify(kept[index]?.refs)).toBe(JSON.stringify(refs));
      }
    }),
  );
});

test("a thread survives toJSON, JSON text and fromJSON byte for byte, and answers the same", () => {
  fc.assert(
    fc.property(entries, object, fc.nat(), (entries, metadata, cut) => {
      const whole = Thread.create({ metadata }).append(entries);
      for (const thread of [whole, whole.upTo((cut % (whole.rev + 1)) - 1)]) {
        const back = Thread.fromJSON(JSON.parse(JSON.stringify(thread)));
        expect(JSON.stringify(back)).toBe(JSON.stringify(thread));
        expect(back.toArray()).toEqual(thread.toArray());
        expect(back.filterByKind("note")).toEqual(thread.filterByKind("note"));
      }
    }),
  );
});

test("what came back is taken for the same entries: appending it again changes nothing", () => {
  fc.assert(
    fc.property(entries, (entries) => {
      const thread = Thread.create().append(entries);
      const back = JSON.parse(JSON.stringify(thread)) as { entries: EntryInput[] };
      expect(thread.append(back.entries)).toBe(thread);
    }),
  );
});
