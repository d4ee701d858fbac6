import type { IncomingHttpHeaders } from "node:http";
import type { JsonObject } from "heddle";
import type { HttpError, Said } from "./answer.ts";
import type { CacheRules, PromptPiece } from "./cache.ts";
import type { Problem } from "./problem.ts";
import type { Frame } from "./sse.ts";
import type { World } from "./world.ts";

export type ApiName = "openai-chat" | "openai-compatible" | "openai-responses" | "anthropic" | "gemini";

/** A request as a provider reads it. */
export interface Asked {
  readonly body: JsonObject;
  readonly headers: IncomingHttpHeaders;
  readonly model: string;
  readonly streaming: boolean;
  readonly world: World;
  /** What the provider did to the request and will tell of. */
  readonly transformations: JsonObject[];
}

/** One wire format: what it refuses, and how it says what is said. */
export interface Api {
  readonly name: ApiName;
  /** Undefined when the path is another API's. */
  readonly route: (
    path: string,
    body: JsonObject,
  ) => { readonly model: string; readonly streaming: boolean } | undefined;
  /** Throws `Refused`. */
  readonly check: (asked: Asked) => void;
  readonly prompt: (asked: Asked) => readonly PromptPiece[];
  readonly cacheRules: (model: string) => CacheRules;
  readonly callId: (n: number) => string;
  readonly whole: (said: Said, asked: Asked) => JsonObject;
  readonly stream: (said: Said, asked: Asked) => readonly Frame[];
  readonly problem: (error: HttpError, numbers: { readonly tokens: number; readonly max: number }) => Problem;
  readonly errorBody: (problem: Problem, retryAfterMs?: number) => JsonObject;
  /** How an answer ends that began well. */
  readonly broken: (problem: Problem) => readonly Frame[];
}

/** Nothing here knows the time. */
export const CREATED = 1_700_000_000;

/** Ids as long as the real ones. */
export function paddedId(prefix: string, n: number, length = 24): string {
  return prefix + String(n).padStart(length, "0");
}
