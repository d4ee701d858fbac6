import { createHash } from "node:crypto";

/** A stretch of a prompt, in the order in which providers cache: tools, system, messages. */
export interface PromptPiece {
  readonly text: string;
  /** Its end is a breakpoint. */
  readonly mark?: boolean;
}

export interface CacheReport {
  readonly read: number;
  readonly write: number;
}

export interface CacheRules {
  readonly kind: "prefix" | "marks";
  /** Shorter prompts are not cached. */
  readonly minTokens: number;
  /** Hits come in blocks of so many tokens. */
  readonly step: number;
}

/** The earlier block ends among which Anthropic looks for what it has already kept. */
const LOOKBACK = 20;

/** What a provider remembers of the prompts of one model. Nothing is ever forgotten: there is no clock here. */
export class PromptCache {
  readonly #prefixes = new Set<string>();

  /** Reads for this prompt what earlier ones have left, and leaves it for later ones. */
  pass(pieces: readonly PromptPiece[], rules: CacheRules): CacheReport {
    return rules.kind === "marks" ? this.#passMarks(pieces, rules) : this.#passPrefix(pieces, rules);
  }

  /** Block by block, as far as some earlier prompt began with the same. */
  #passPrefix(pieces: readonly PromptPiece[], { minTokens, step }: CacheRules): CacheReport {
    const prompt = Buffer.from(pieces.map(({ text }) => text).join(""));
    const chain = createHash("sha256");
    let known = 0;
    for (let end = step * 4; end <= prompt.length; end += step * 4) {
      const hash = chain
        .update(prompt.subarray(end - step * 4, end))
        .copy()
        .digest("base64");
      // The chain holds all blocks before it, so they are known as well.
      if (this.#prefixes.has(hash)) known = end / 4;
      this.#prefixes.add(hash);
    }
    return { read: known < minTokens ? 0 : known, write: 0 };
  }

  #passMarks(pieces: readonly PromptPiece[], { minTokens }: CacheRules): CacheReport {
    const ends = endsOf(pieces);
    const marks = pieces.flatMap(({ mark }, index) => (mark === true ? [index] : []));
    const hit = Math.max(-1, ...marks.map((mark) => this.#newestKept(ends, mark)));
    const kept = marks.filter((mark) => (ends[mark]?.tokens ?? 0) >= minTokens);
    for (const mark of kept) this.#prefixes.add(ends[mark]?.hash ?? "");
    const read = ends[hit]?.tokens ?? 0;
    const reach = ends[kept.at(-1) ?? -1]?.tokens ?? 0;
    return { read, write: Math.max(0, reach - read) };
  }

  #newestKept(ends: readonly PieceEnd[], mark: number): number {
    for (let index = mark; index >= Math.max(0, mark - LOOKBACK); index--) {
      if (this.#prefixes.has(ends[index]?.hash ?? "")) return index;
    }
    return -1;
  }
}

interface PieceEnd {
  readonly hash: string;
  readonly tokens: number;
}

/** Each end knows everything before it. */
function endsOf(pieces: readonly PromptPiece[]): readonly PieceEnd[] {
  const chain = createHash("sha256");
  let bytes = 0;
  return pieces.map(({ text }) => {
    bytes += Buffer.byteLength(text);
    chain.update(text).update("\u0000");
    return { hash: chain.copy().digest("base64"), tokens: Math.floor(bytes / 4) };
  });
}
