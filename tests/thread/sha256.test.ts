import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { base64url, nobleSha256, portableSha256 } from "../../src/thread/encoding.ts";
import { codePoint } from "../support/code-point.ts";

test("the portable SHA-256 gives what Node's gives, for any text", () => {
  fc.assert(
    fc.property(fc.string({ unit: codePoint }), (text) => {
      const digest = createHash("sha256").update(text).digest("base64url");
      expect([nobleSha256(text), portableSha256(text)]).toEqual([digest, digest]);
    }),
  );
});

test("the runtime's own SHA-256 is used where it can be had", () => {
  expect(portableSha256).not.toBe(nobleSha256);
});

test("base64url gives what Node's gives, for any bytes", () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      expect(base64url(bytes)).toBe(Buffer.from(bytes).toString("base64url"));
    }),
  );
});
