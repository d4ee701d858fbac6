import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { measureOf, measureOfEntry } from "../../../src/lanes/measure.ts";
import { decodePayload, encodeAs, encodePayload, referencesIn } from "../../../src/stores/stored-payload.ts";
import { portableSha256 } from "../../../src/thread/encoding.ts";
import { copyJsonObject } from "../../../src/thread/json.ts";
import { expectOften } from "../../support/case-budget.ts";

const short = fc.string({ maxLength: 5, unit: "grapheme" });
const file = fc.integer({ min: 1020, max: 1030 }).map((length) => "Q".repeat(length));
const long = short.map((text) => text.padEnd(65_538, `${text}"\\\u0000`).toWellFormed());
const key = fc.oneof(short, fc.constantFrom("base64", "a/b", "~", "~1", "", "0", "__proto__", "data/base64"));
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    { arbitrary: short, weight: 3 },
    { arbitrary: file, weight: 3 },
    { arbitrary: long, weight: 1 },
    { arbitrary: fc.constantFrom(null, 0, true), weight: 1 },
    { arbitrary: fc.array(tie("value"), { maxLength: 3 }), weight: 2 },
    { arbitrary: fc.array(fc.tuple(key, tie("value")), { maxLength: 3 }).map(Object.fromEntries), weight: 4 },
  ),
}));
const payload = fc
  .tuple(fc.array(fc.tuple(key, value), { maxLength: 4 }), fc.tuple(key, fc.oneof(file, long)))
  .map(([fields, last]) => [...fields, last])
  .map((fields) => copyJsonObject(Object.fromEntries(fields), "payload"));

test("a payload comes back from its row and its blobs byte for byte", () => {
  let [cases, withBlobs] = [0, 0];
  fc.assert(
    fc.property(payload, (given) => {
      cases++;
      const { text, blobs, chars, measure } = encodePayload(given, portableSha256);
      const texts = new Map(blobs.map((blob) => [blob.hash, blob.text]));
      const back = decodePayload(text, (hash) => texts.get(hash) ?? expect.fail("no blob"));
      expect(JSON.stringify(back)).toBe(JSON.stringify(given));
      expect(Object.isFrozen(back)).toBe(true);
      expect(chars).toBe(JSON.stringify(given).length);
      expect(new Set(referencesIn(text))).toEqual(new Set(texts.keys()));
      for (const { hash, content } of blobs) expect(portableSha256(String(content))).toBe(hash);
      expect(encodeAs(given, text)).toEqual({ text, chars, measure });
      expect(Math.floor(new TextEncoder().encode(JSON.stringify(given)).length / 4)).toBe(measure);
      if (blobs.length > 0) withBlobs++;
    }),
    { numRuns: 150 },
  );
  expectOften(withBlobs, cases, 0.2);
});

test("large details of a tool result are one blob, and do not count", () => {
  const rows = Array.from({ length: 100 }, (_, id) => ({ id, name: "row" }));
  const given = { role: "tool", toolCallId: "c", content: "100 rows", details: { rows } };
  const { text, blobs, measure } = encodePayload(given, portableSha256);
  expect(text.length).toBeLessThan(200);
  expect(decodePayload(text, () => blobs[0]?.text ?? "")).toEqual(given);
  expect([measure, encodeAs(given, text).measure]).toEqual([measureOfEntry({ payload: given }), measure]);
  expect(measure).toBeLessThan(25);
  for (const whole of [
    { ...given, role: "assistant" },
    { ...given, details: rows.slice(0, 30) },
  ]) {
    const small = encodePayload(whole, portableSha256);
    expect(small).toMatchObject({ blobs: [], measure: measureOf(JSON.stringify(whole)) });
    expect(measureOfEntry({ payload: whole })).toBe(small.measure);
  }
});

test("file data from 1,024 characters and texts above 64 Ki are blobs, and nothing shorter", () => {
  const at = (given: { readonly [key: string]: string }) => encodePayload(given, portableSha256).blobs.length;
  expect([at({ base64: "A".repeat(1023) }), at({ base64: "A".repeat(1024) })]).toEqual([0, 1]);
  expect([at({ text: "A".repeat(65_536) }), at({ text: "A".repeat(65_537) })]).toEqual([0, 1]);
  expect(at({ text: `"base64":"${"A".repeat(2000)}"` })).toBe(0);
});

test("a payload without files and long texts is not searched, and not hashed", () => {
  const sha256 = vi.fn(portableSha256);
  const entries = vi.spyOn(Object, "entries");
  for (const length of [1, 1000, 60_000]) encodePayload({ text: "A".repeat(length), n: [1, { a: 2 }] }, sha256);
  expect(entries).not.toHaveBeenCalled();
  entries.mockRestore();
  expect(sha256).not.toHaveBeenCalled();
});
