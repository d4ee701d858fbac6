import fc from "fast-check";

const SURROGATES = [0xd800, 0xe000] as const;
const COUNT = SURROGATES[1] - SURROGATES[0];

/**
 * Any character, as the unit of a text. It is fast-check's "binary", which first fills a table of a million characters:
 * more work than most properties.
 */
export const codePoint: fc.Arbitrary<string> = fc.nat(0x10ffff - COUNT).map(
  (index) => String.fromCodePoint(index < SURROGATES[0] ? index : index + COUNT),
  (text) => {
    const code = typeof text === "string" ? text.codePointAt(0) : undefined;
    if (code === undefined || text !== String.fromCodePoint(code)) throw new Error("It is not one character.");
    if (code >= SURROGATES[0] && code < SURROGATES[1]) throw new Error("It is half a character.");
    return code < SURROGATES[0] ? code : code - COUNT;
  },
);
