import fc from "fast-check";
import { expect, test } from "vitest";
import { requestKey } from "../../src/stores/row-filter.ts";

/** By characters, as databases count them. */
function byCharacters(requestId: string): string {
  const chars = [...JSON.stringify(requestId)];
  return (/^req_.{8}-.{4}-.{4}-.{4}-.{12}$/su.test(requestId) ? chars.slice(-13) : chars.slice(0, 64)).join("");
}

const text = (length: number) => fc.string({ unit: "binary", minLength: length, maxLength: length });
const made = fc
  .tuple(text(8), text(4), text(4), text(4), text(12))
  .map((parts) => `req_${parts.join("-")}`)
  .filter((id) => JSON.stringify(id) === `"${id}"`);

test("a request key is the last or the first characters of an id, whatever they are", () => {
  fc.assert(
    fc.property(fc.oneof(made, fc.string({ unit: "binary", maxLength: 100 })), (requestId) => {
      expect(requestKey({ requestId })).toBe(byCharacters(requestId));
    }),
    { numRuns: 20_000 },
  );
});
