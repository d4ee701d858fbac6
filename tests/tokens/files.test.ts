import { describe, expect, test } from "vitest";
import type { FileContentPart, PartMetadata } from "../../src/thread/message.ts";
import { countMessage, countReadable, FILE_TOKENS, fileTokens, heuristic } from "../../src/tokens/counter.ts";

function file(mediaType: string, metadata?: PartMetadata, base64 = "AAAA"): FileContentPart {
  return { type: "file", mediaType, data: { base64 }, ...(metadata && { metadata }) };
}

test.each([
  ["image/png", FILE_TOKENS.image],
  ["IMAGE/JPEG", FILE_TOKENS.image],
  ["image", FILE_TOKENS.image],
  ["audio/wav", FILE_TOKENS.audio],
  ["video/mp4", FILE_TOKENS.video],
  ["application/pdf", FILE_TOKENS.pdf],
  ["application/zip", FILE_TOKENS.other],
])("a file of type %s counts %i", (mediaType, tokens) => {
  expect(fileTokens(file(mediaType))).toBe(tokens);
});

test("the length of the base64 text makes no difference", () => {
  const small = { role: "user", content: [file("image/png")] } as const;
  const large = { role: "user", content: [file("image/png", undefined, "A".repeat(4_000_000))] } as const;
  expect(countMessage(large, heuristic)).toBe(countMessage(small, heuristic));
  expect(countMessage(small, heuristic)).toBe(FILE_TOKENS.image + 10);
});

test("an image counts by its size where that is known, within bounds", () => {
  expect(fileTokens(file("image/png", { heddle: { width: 750, height: 500 } }))).toBe(500);
  expect(fileTokens(file("image/png", { openai: {}, any: { width: 1, height: 1 } }))).toBe(85);
  expect(fileTokens(file("image/png", { heddle: { width: 9000, height: 9000 } }))).toBe(FILE_TOKENS.image);
  expect(fileTokens(file("image/png", { heddle: { width: 750 } }))).toBe(FILE_TOKENS.image);
  expect(fileTokens(file("image/png", { heddle: { width: -75, height: -75 } }))).toBe(FILE_TOKENS.image);
  expect(fileTokens(file("image/png", { heddle: { width: "750", height: 500 } }))).toBe(FILE_TOKENS.image);
});

test("sound, film and documents count by length where that is known", () => {
  expect(fileTokens(file("audio/wav", { heddle: { seconds: 10 } }))).toBe(320);
  expect(fileTokens(file("video/mp4", { heddle: { seconds: 1.5 } }))).toBe(450);
  expect(fileTokens(file("application/pdf", { heddle: { pages: 3 } }))).toBe(6000);
});

test("a text file counts as its text", () => {
  const text = "好 text\n".repeat(100);
  const base64 = Buffer.from(text).toString("base64");
  for (const type of ["text/csv", "application/json", "application/ld+json"]) {
    const message = { role: "user", content: [file(type, undefined, base64)] } as const;
    expect(countMessage(message, heuristic)).toBe(heuristic.count(text) + 10);
  }
});

test("a text file that is not at hand, or broken, counts by its kind", () => {
  expect(fileTokens({ type: "file", mediaType: "text/plain", data: { url: "https://example.com/a.txt" } })).toBe(2000);
  expect(fileTokens({ type: "file", mediaType: "text/plain", data: { blob: "hash" } })).toBe(2000);
  expect(fileTokens(file("text/plain", undefined, "not base64!"))).toBe(2000);
});

test("a file's name is read by the model too; its address is not", () => {
  const data = { url: `https://example.com/${"a".repeat(4000)}` };
  const message = {
    role: "user",
    content: [{ type: "file", mediaType: "image/png", filename: "map1.png", data }],
  } as const;
  expect(countMessage(message, heuristic)).toBe(2 + FILE_TOKENS.image + 10);
});

describe("the header of an image", () => {
  const png = (width: number, height: number) => {
    const bytes = Buffer.from("89504e470d0a1a0a0000000d49484452".padEnd(60, "0"), "hex");
    bytes.writeUInt32BE(width, 16);
    bytes.writeUInt32BE(height, 20);
    return bytes.toString("base64");
  };
  test("of a small PNG makes it one tile of Gemini, which counts the most for it", () => {
    expect(fileTokens(file("image/*", undefined, png(1, 1)))).toBe(258);
    for (let side = 1; side < 256; side++) {
      expect(fileTokens(file("image/*", undefined, png(side, 256 - side)))).toBe(258);
      expect(fileTokens(file("image/*", undefined, png(side, 255)))).toBe(258);
    }
    for (const side of [256, 257, 511, 512, 4096, 65_535]) {
      expect(fileTokens(file("image/*", undefined, png(side, 1)))).toBe(FILE_TOKENS.image);
      expect(fileTokens(file("image/*", undefined, png(1, side)))).toBe(FILE_TOKENS.image);
    }
    expect(fileTokens(file("image/*", { heddle: { width: 300, height: 250 } }, png(1, 1)))).toBe(100);
  });

  test("that is broken, cut or of another file changes nothing, nor does it under heddle/1", () => {
    for (const base64 of ["", "!", png(1, 1).slice(0, 28), "/9j/".padEnd(40, "A")]) {
      expect(fileTokens(file("image/png", undefined, base64))).toBe(FILE_TOKENS.image);
    }
    expect(fileTokens(file("application/pdf", undefined, png(1, 1)))).toBe(FILE_TOKENS.pdf);
    const message = { role: "user", content: [file("image/png", undefined, png(1, 1))] } as const;
    expect(countMessage(message, heuristic)).toBe(268);
    expect(countReadable(message, heuristic)).toBe(FILE_TOKENS.image + 10);
  });
});
