import type { JsonObject } from "heddle";

export type Legal = readonly [name: string, body: JsonObject];

/** The rule it breaks, and words that must be in the provider's message. */
export type Illegal = readonly [name: string, rule: string, words: string, body: JsonObject];
