import { HeddleError } from "../thread/errors.ts";
import { describe } from "../thread/json.ts";
import type { TokenCounter } from "./counter.ts";

/** Loads an optional package by its name. Default: an import of the package itself. */
export type LoadModule = (name: string) => Promise<unknown>;

const INSTALL = "npm install gpt-tokenizer@4";

/** The names are literals inside a `try`, so that bundlers find them and only warn if the package is not installed. */
const importModule: LoadModule = async (name) => {
  try {
    if (name === "gpt-tokenizer/encoding/cl100k_base") return await import("gpt-tokenizer/encoding/cl100k_base");
    return await import("gpt-tokenizer/encoding/o200k_base");
  } catch (cause) {
    return Promise.reject(cause);
  }
};

/**
 * Loads the exact counter of an OpenAI model from the optional package gpt-tokenizer. An unknown model gets the newest
 * encoding, o200k_base. Models of Claude and Gemini have no public tokenizer and throw `tokenizer_unavailable`. Without the
 * package, this throws `tokenizer_missing`.
 *
 * @example
 * const tokenCounter = await loadExactCounter("openai:gpt-5");
 */
export async function loadExactCounter(model: string, load: LoadModule = importModule): Promise<TokenCounter> {
  const encoding = encodingOf(model);
  return exactCounter(encoding, countTokensOf(await loaded(`gpt-tokenizer/encoding/${encoding}`, load)));
}

async function loaded(name: string, load: LoadModule): Promise<unknown> {
  try {
    return await load(name);
  } catch (cause) {
    const message = `Exact token counts need the package gpt-tokenizer, which could not be loaded. Run: ${INSTALL}`;
    throw new HeddleError({ code: "tokenizer_missing", message, cause });
  }
}

function countTokensOf(module: unknown): CountTokens {
  if (isTokenizer(module)) return module.countTokens;
  const message = `gpt-tokenizer exports no countTokens (${describe(module)}): its version is wrong. Run: ${INSTALL}`;
  throw new HeddleError({ code: "tokenizer_missing", message });
}

function isTokenizer(module: unknown): module is { readonly countTokens: CountTokens } {
  return (
    typeof module === "object" && module !== null && "countTokens" in module && typeof module.countTokens === "function"
  );
}

/** An encoding of OpenAI: `o200k_base` since gpt-4o, `cl100k_base` before. */
export type Encoding = "o200k_base" | "cl100k_base";

/** The required function of a tokenizer. The one of `gpt-tokenizer/encoding/*` fits. */
export type CountTokens = (text: string, options: { disallowedSpecial: Set<string> }) => number;

/** Counts special names such as <|endoftext|> as plain text. */
const AS_TEXT = { disallowedSpecial: new Set<string>() };

/** OpenAI's frame around a message: three tokens and the role. */
const PER_MESSAGE = 4;

/** Tokenizers need quadratic time for long text without spaces. A megabyte of it would block the process. */
const LONGEST_SLICE = 1024;

/** The model families before gpt-4o. Newer and unknown models have the newest encoding. */
const OLDER = /^(gpt-3\.5|gpt-35|gpt-4(?![.o\d])|text-embedding-)/;

/**
 * The encoding of an OpenAI model. A model that is not known gets the newest one, o200k_base.
 *
 * @example
 * encodingOf("openai:gpt-4-turbo"); // "cl100k_base"
 */
export function encodingOf(model: string): Encoding {
  const name = nameOf(model);
  if (/claude|anthropic|gemini/.test(model.toLowerCase())) throw noTokenizer(name);
  return OLDER.test(name) ? "cl100k_base" : "o200k_base";
}

/**
 * A counter by the tokenizer of an OpenAI encoding. Use it in place of `loadExactCounter` to load the tokenizer yourself.
 *
 * @example
 * const countTokens = (text: string) => text.length; // in production: from "gpt-tokenizer/encoding/o200k_base"
 * const counter = exactCounter("o200k_base", countTokens);
 */
export function exactCounter(encoding: Encoding, countTokens: CountTokens): TokenCounter {
  return Object.freeze({
    id: `exact:${encoding}`,
    version: "1",
    perMessage: PER_MESSAGE,
    count: (text: string) => slicesOf(text).reduce((sum, slice) => sum + countTokens(slice, AS_TEXT), 0),
  });
}

/** Cuts before a space where possible, because no token spans text on both sides of the cut. */
function slicesOf(text: string): readonly string[] {
  const slices: string[] = [];
  let start = 0;
  while (text.length - start > LONGEST_SLICE) {
    const end = cutBefore(text, start);
    slices.push(text.slice(start, end));
    start = end;
  }
  slices.push(text.slice(start));
  return slices;
}

function cutBefore(text: string, start: number): number {
  const latest = start + LONGEST_SLICE;
  for (let at = latest; at > start + 1; at--) {
    if (text[at] === " " && isWordLike(text.charCodeAt(at - 1)) && isWordLike(text.charCodeAt(at + 1))) return at;
  }
  return isLowSurrogate(text.charCodeAt(latest)) ? latest - 1 : latest;
}

function isWordLike(unit: number): boolean {
  return unit > 0x20; // neither a space nor a line break, whose runs are tokens of their own
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

/** The model without its provider: "gpt-5" for "openai:gpt-5" and "openrouter/openai/gpt-5". */
function nameOf(model: string): string {
  return model.slice(Math.max(model.lastIndexOf("/"), model.indexOf(":")) + 1).toLowerCase();
}

function noTokenizer(name: string): HeddleError {
  const message = `There is no public tokenizer for ${name}. Use tokenEstimator "calibrated": it learns from what the provider reports.`;
  return new HeddleError({ code: "tokenizer_unavailable", message });
}
