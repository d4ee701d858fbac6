import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { base64url } from "../../src/thread/base64url.ts";
import { portableSha256 } from "../../src/thread/sha256.ts";

test("the portable SHA-256 gives what Node's gives, for any text", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(portableSha256(text)).toBe(createHash("sha256").update(text).digest("base64url"));
    }),
  );
});

test("base64url gives what Node's gives, for any bytes", () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      expect(base64url(bytes)).toBe(Buffer.from(bytes).toString("base64url"));
    }),
  );
});
