import { utf8Length } from "../tokens/utf8.ts";

/** How much an entry weighs on its lane: a quarter of the UTF-8 bytes of its payload's JSON text, rounded down. */
export function measureOf(payloadText: string): number {
  return Math.floor(utf8Length(payloadText) / 4);
}
