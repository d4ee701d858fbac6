import fc from "fast-check";
import type { Content, JsonObject, JsonValue, Part } from "heddle";

/** Present so many times in ten. */
export function maybe<T>(timesInTen: number, arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
  const absent = { weight: 10 - timesInTen, arbitrary: fc.constant(undefined) };
  return fc.oneof({ withCrossShrink: true }, absent, { weight: timesInTen, arbitrary });
}

// What is said in random threads: mostly short texts, some long ones, and everything that is hard to show.

const long = "The quick brown fox jumps over the lazy dog while the weaver lifts another pick of yarn. ";

export const text: fc.Arbitrary<string> = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom("hi", "Find it.", "What's 2+2?", "ok", "Go on, please", "Ça va, où ça?") },
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 4 }).map((times) => long.repeat(times)) },
  { weight: 1, arbitrary: fc.constantFrom("🧵🧶 ".repeat(20), "done \n", " padded ", "\n") },
  { weight: 1, arbitrary: fc.constantFrom("", "   ") },
);

/** Says how big it is, so that it costs little. */
const heddle = { heddle: { width: 30, height: 30 } };
const image: Part = { type: "file", mediaType: "image/png", data: { base64: "iVBORw0KGgo=" }, metadata: heddle };

const file: fc.Arbitrary<Part> = fc.oneof(
  { weight: 3, arbitrary: fc.constant(image) },
  fc.constant<Part>({ ...image, filename: "a.png", data: { url: "https://example.com/a.png" } }),
  fc.constant<Part>({ type: "file", mediaType: "text/plain", data: { base64: "aGVsbG8=" } }),
  fc.constant<Part>({ ...image, data: { url: "not a url" } }),
);

/** Some cost more than a small window has. */
export const resultFile: fc.Arbitrary<Part> = fc.oneof(
  file,
  fc.constantFrom(100, 250).map((width): Part => ({ ...image, metadata: { heddle: { width, height: 750 } } })),
);

const textPart: fc.Arbitrary<Part> = fc.oneof(
  { weight: 6, arbitrary: text.map((text): Part => ({ type: "text", text })) },
  fc.constant<Part>({ type: "text", text: "", metadata: { google: { thoughtSignature: "c2ln" } } }),
);

export const content: fc.Arbitrary<Content> = fc.oneof(
  { weight: 10, arbitrary: text },
  { weight: 2, arbitrary: fc.array(fc.oneof({ weight: 3, arbitrary: textPart }, file), { maxLength: 3 }) },
);

/** Mostly people; some values name no author. */
export const author: fc.Arbitrary<JsonValue> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom<JsonValue>({ id: "u1", name: "Ada" }, { id: "u2" }) },
  fc.constantFrom<JsonValue>({ id: "u3", name: "  Grace\n Hopper " }, { id: "u4", name: "" }, { id: " " }, "Ada", null),
);

/** An assistant may think among its parts, too. */
export const answerContent: fc.Arbitrary<Content> = fc.oneof(
  { weight: 10, arbitrary: content },
  { weight: 1, arbitrary: fc.tuple(fc.constant<Part>({ type: "thinking", text: "hmm" }), textPart) },
);

const value: fc.Arbitrary<JsonValue> = fc.oneof(
  text,
  fc.constantFrom<JsonValue>(4, null, true, { city: "Bern", days: [1, 2] }, []),
);

export const result: fc.Arbitrary<JsonValue> = fc.oneof(
  fc.constantFrom({ ok: true, value: 1, audit: "a" }, { ok: false, error: "e", more: 2 }, { ok: false, value: 3 }),
  { weight: 3, arbitrary: value },
  value.map((value): JsonObject => ({ ok: true, value })),
  text.map((message): JsonObject => ({ ok: false, error: { type: "failed", message } })),
);

export const toolName = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom("search", "weather") },
  fc.constantFrom("näme with spaces", "", "x".repeat(70)),
);

export const args: fc.Arbitrary<JsonValue> = fc.constantFrom<JsonValue>({}, { q: "yarn" }, { q: long }, [], "raw");

/** "fresh" becomes an id that no other call has. */
export const callId = fc.oneof(
  { weight: 6, arbitrary: fc.constant("fresh") },
  { weight: 3, arbitrary: fc.constantFrom("call_0", "call_1") },
  { weight: 1, arbitrary: fc.constantFrom("a b!", "y".repeat(41), "", undefined) },
);

export const models = ["anthropic:claude", "openai/gpt"] as const;

export interface Thought {
  readonly thinking: JsonValue;
  /** What the call says it was made with, if anything. */
  readonly model: string | undefined;
  readonly isFingerprinted: boolean;
}

const thinking: fc.Arbitrary<JsonValue> = fc.constantFrom<JsonValue>(
  "Let me see.",
  [{ text: "First this.", metadata: { anthropic: { signature: "c2lnbmVk" } } }],
  [{ type: "thinking", text: "Then that.", provider: "anthropic.messages", model: "claude" }, { text: "And so on." }],
);

export const thought: fc.Arbitrary<Thought> = fc.record({
  thinking,
  model: maybe(8, fc.constantFrom(...models)),
  isFingerprinted: fc.boolean(),
});
