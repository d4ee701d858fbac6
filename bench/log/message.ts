import type { EntryInput, JsonObject } from "heddle";
import { prose } from "../support/text.ts";

/** Of every payload here, as JSON text. */
export const PAYLOAD_BYTES = 587;

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
  return prose(`Message ${index}:`, index, size);
}
