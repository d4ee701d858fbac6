import type { JsonObject } from "heddle";
import type { CacheReport } from "./cache.ts";
import { tokensOf } from "./tokens.ts";

/** An array is sent as exactly these deltas; a string is cut into some. */
type Deltas = string | readonly string[];

interface AnsweredCall {
  readonly name: string;
  /** A string is sent as it is, also when it is no JSON. */
  readonly arguments: JsonObject | string;
  readonly id?: string;
}

/** Errors instead of an answer. */
export type HttpError = "rate_limited" | "overloaded" | "auth" | "context_too_long" | "server_error" | "bad_request";

/** Errors in the middle of one: an error event, a closed socket, silence for ever, a chunk that is no JSON. */
export type Breakage = "mid_stream" | "cut" | "stall" | "malformed";

type AnswerPart =
  | { readonly thinking: Deltas }
  | { readonly redacted: string }
  | { readonly text: Deltas }
  | { readonly search: Search }
  | { readonly call: AnsweredCall };

/** A search of the web that the provider runs itself. Only Anthropic and Responses have it here. */
interface Search {
  readonly query: string;
  readonly url: string;
  /** Instead of a result, as Anthropic says it. */
  readonly error?: string;
  /** Only the call, in an answer that is paused, or only its result, in the next one. The id stands for both. */
  readonly half?: { readonly part: "call" | "result"; readonly id: number };
}

/** What the model says, whichever API it is asked through. Thinking comes first, then text, then calls. */
export interface Answer {
  readonly thinking?: Deltas;
  /** Thinking that only its provider can read; only Anthropic has it. */
  readonly redacted?: string;
  readonly text?: Deltas;
  readonly calls?: readonly AnsweredCall[];
  /** Instead of the four above, where another order matters. */
  readonly parts?: readonly AnswerPart[];
  /** Default: "tool_calls" with calls, else "stop". */
  readonly finish?: "stop" | "length" | "content_filter" | "pause";
  /** What is not given is estimated; the cache fields come from the simulated cache. */
  readonly usage?: Partial<Usage>;
  /** "refusal": the text is why the model will not. A breakage comes with what is said until then. */
  readonly error?: HttpError | Breakage | "refusal";
  /** Of an error, instead of the provider's usual words. */
  readonly message?: string;
  readonly retryAfterMs?: number;
  /** The number of deltas before a breakage, or before `waitFor`; 0 is before anything but the status. Default 1. */
  readonly after?: number;
  /** The rest of the answer is sent when it resolves. */
  readonly waitFor?: Promise<unknown>;
}

/** Input counts everything, also what the cache read and wrote; output counts reasoning. */
export interface Usage {
  readonly input: number;
  readonly output: number;
  readonly reasoning: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}

export type Block =
  | { readonly type: "thinking"; readonly deltas: readonly string[]; readonly id: number }
  | { readonly type: "redacted"; readonly data: string; readonly id: number }
  | { readonly type: "text"; readonly deltas: readonly string[]; readonly id: number }
  | {
      readonly type: "call";
      readonly name: string;
      readonly json: string;
      readonly callId: string;
      readonly id: number;
    }
  /** A search takes two blocks at Anthropic. The second one has no query. */
  | { readonly type: "search"; readonly search: Search; readonly part: "call" | "result"; readonly id: number };

/** An answer with everything decided that does not depend on the API. */
export interface Said {
  readonly id: number;
  readonly blocks: readonly Block[];
  readonly finish: "stop" | "length" | "content_filter" | "tool_calls" | "refusal" | "pause";
  readonly usage: Usage;
}

export function said(
  answer: Answer,
  next: () => number,
  callId: (n: number) => string,
  input: number,
  cache: CacheReport,
): Said {
  const id = next();
  const blocks = partsOf(answer).flatMap((part): Block | Block[] => {
    const id = next();
    if ("search" in part) {
      const { half } = part.search;
      if (half !== undefined) return { type: "search", search: part.search, ...half };
      const block = { type: "search", search: part.search, id } as const;
      return [
        { ...block, part: "call" },
        { ...block, part: "result" },
      ];
    }
    if ("thinking" in part) return { type: "thinking", deltas: deltasOf(part.thinking), id };
    if ("redacted" in part) return { type: "redacted", data: part.redacted, id };
    if ("text" in part) return { type: "text", deltas: deltasOf(part.text), id };
    const { name, arguments: args } = part.call;
    const json = typeof args === "string" ? args : JSON.stringify(args);
    return { type: "call", name, json, callId: part.call.id ?? callId(id), id };
  });
  const calls = blocks.some(({ type }) => type === "call");
  const finish = answer.error === "refusal" ? "refusal" : (answer.finish ?? (calls ? "tool_calls" : "stop"));
  return { id, blocks, finish, usage: { ...estimated(blocks, input, cache), ...answer.usage } };
}

function partsOf({ parts, thinking, redacted, text, calls = [] }: Answer): readonly AnswerPart[] {
  if (parts !== undefined) return parts;
  return [
    ...(thinking === undefined ? [] : [{ thinking }]),
    ...(redacted === undefined ? [] : [{ redacted }]),
    ...(text === undefined ? [] : [{ text }]),
    ...calls.map((call) => ({ call })),
  ];
}

function deltasOf(deltas: Deltas): readonly string[] {
  return typeof deltas === "string" ? fragments(deltas) : deltas;
}

/** Three pieces, never through the middle of a character. */
export function fragments(text: string): readonly string[] {
  const characters = Array.from(text);
  const size = Math.max(1, Math.ceil(characters.length / 3));
  const starts = Array.from({ length: Math.ceil(characters.length / size) }, (_, index) => index * size);
  return starts.map((start) => characters.slice(start, start + size).join(""));
}

export function contentOf(block: Block): string {
  switch (block.type) {
    case "text":
    case "thinking":
      return block.deltas.join("");
    case "redacted":
      return block.data;
    case "call":
      return block.json;
    case "search":
      return block.search.query;
    default:
      return block satisfies never;
  }
}

function estimated(blocks: readonly Block[], input: number, { read, write }: CacheReport): Usage {
  const tokens = (kept: readonly Block[]): number => tokensOf(kept.map(contentOf).join(""));
  return {
    input,
    output: tokens(blocks) + 1,
    reasoning: tokens(blocks.filter(({ type }) => type === "thinking")),
    cacheRead: read,
    cacheWrite: write,
  };
}
