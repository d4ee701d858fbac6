import type { EntryInput, JsonObject } from "heddle";

/** Of every payload here, as JSON text. */
export const PAYLOAD_BYTES = 587;

const WORDS = "the thread is what happened and the context is what we show the model of it when it is asked".split(" ");

/** Made beforehand, so that making them is not measured. An even number, so that the roles take turns. */
const TEXTS = Array.from({ length: 1000 }, (_, index) => makeText(index));
const PAYLOADS = TEXTS.map((content, index): JsonObject => ({ role: roleOf(index), content }));

/** The text of message `index` of any conversation, the same on every machine; it comes again after 1,000 others. */
export function textOf(index: number): string {
  return TEXTS[index % TEXTS.length] ?? "";
}

export function roleOf(index: number): "user" | "assistant" {
  return index % 2 === 0 ? "user" : "assistant";
}

export function payloadOf(index: number): JsonObject {
  return PAYLOADS[index % PAYLOADS.length] ?? {};
}

export function messageOf(index: number): EntryInput {
  return { kind: "message", payload: payloadOf(index) };
}

export function messages(from: number, count: number): EntryInput[] {
  return Array.from({ length: count }, (_, offset) => messageOf(from + offset));
}

function makeText(index: number): string {
  const size = PAYLOAD_BYTES - JSON.stringify({ role: roleOf(index), content: "" }).length;
  let text = `Message ${index}:`;
  for (let state = index; text.length < size; ) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0; // a plain linear congruential generator
    text += ` ${WORDS[(state >>> 8) % WORDS.length]}`;
  }
  return `${text.slice(0, size - 1)}.`;
}
