import fc from "fast-check";
import type { JsonObject } from "heddle";
import { fieldsOf } from "../../../src/stores/thread-fields.ts";

/** Everything that JSON, a path or a pattern could trip over. */
const text = fc.string({
  unit: fc.constantFrom(..."aA.$[]_-%'\"\\/ ßé～😀", "\u0000", "\u0001", "\u001f", "\u007f", "\u2028", "\n", "\ue000"),
  maxLength: 4,
});
const long = fc.constantFrom("😀".repeat(199), "x".repeat(798), "x".repeat(799), "\n".repeat(399), "\n".repeat(400));
const value = fc.oneof(
  text,
  long,
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer(),
  fc.boolean(),
  fc.constantFrom(null, -0, 1e21, 1e-7, [], {}, { a: "x" }),
);
const name = fc.oneof(text, fc.constantFrom("status", "n".repeat(256), "n".repeat(257), "😀".repeat(64), "__proto__"));

/** Metadata that 0.1 may have stored. */
export const earlierMetadata: readonly JsonObject[] = [
  // The upgrade of Postgres does not tell a zero byte from U+E000 in one thread.
  ...fc
    .sample(fc.dictionary(name, value, { maxKeys: 5 }), { numRuns: 300, seed: 7 })
    .filter((metadata) => !/\\u0000.*\ue000|\ue000.*\\u0000/.test(JSON.stringify(metadata))),
  { a: "\\u0000", b: "\u0000" }, // a text that looks like an escape
  { a: "\\ue000" },
];

/** Rows of `thread_fields` as texts, for the threads with these keys. */
export function expectedFields(firstKey: number): readonly string[] {
  return earlierMetadata.flatMap((metadata, n) =>
    fieldsOf(metadata).map(({ name, value }) => JSON.stringify([firstKey + n, name, value])),
  );
}
