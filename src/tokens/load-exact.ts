import { HeddleError } from "../thread/errors.ts";
import { describe } from "../thread/json.ts";
import type { TokenCounter } from "./counter.ts";
import { type CountTokens, encodingOf, exactCounter } from "./exact.ts";

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
