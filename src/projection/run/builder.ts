import { freezeJson } from "../../thread/json.ts";
import type { Message } from "../../thread/message.ts";
import { type Block, isOfContext } from "../history/block.ts";
import type { Settings } from "../input/settings.ts";
import type { Provenance, Segment } from "../projection.ts";
import type { Piece } from "../render/piece.ts";
import { STAND_IN } from "../window/costs.ts";
import { Chain } from "./chain.ts";

/** A list of messages with facts about it. */
export interface Built {
  readonly chain: Chain;
  readonly provenance: readonly Provenance[];
  /** The number of thread entries in it. */
  readonly entries: number;
  readonly standIns: number;
  readonly repaired: readonly number[];
  readonly cleared: readonly number[];
  readonly thinkingDropped: readonly number[];
  /** The blocks that are shown. `places` holds the index of the first message of each. */
  readonly blocks: readonly Block[];
  readonly places: readonly number[];
}

/** Collects the messages of a projection with facts about each. */
export class Builder {
  readonly #settings: Settings;
  readonly #chain: Chain;
  readonly #provenance: Provenance[] = [];
  readonly #repaired: number[] = [];
  readonly #cleared: number[] = [];
  readonly #thinkingDropped: number[] = [];
  readonly #contexts = new Set<number>();
  readonly #blocks: Block[] = [];
  readonly #places: number[] = [];
  #entries = 0;
  #standIns = 0;

  constructor(settings: Settings, before: Chain | undefined) {
    this.#settings = settings;
    this.#chain = new Chain(settings.toolsText, before);
  }

  /** The hash over everything added so far. */
  get fingerprint(): string {
    return this.#chain.fingerprint;
  }

  add(piece: Piece, block?: Block): void {
    if (block !== undefined) {
      this.#blocks.push(block);
      this.#places.push(this.#chain.messages.length);
    }
    for (const message of piece.messages) this.#chain.push(message);
    for (const each of piece.provenance) this.#provenance.push(each);
    this.#repaired.push(...piece.repaired);
    this.#cleared.push(...piece.cleared);
    this.#thinkingDropped.push(...piece.thinkingDropped);
    const isContext = block !== undefined && isOfContext(block);
    if (isContext) this.#contexts.add(block.seq);
    this.#entries += piece.entries - (isContext ? 1 : 0);
  }

  /** Adds a placeholder user message. It has the segment of the message that needs it. */
  standIn(tokens: number, segment: Segment): void {
    this.#chain.push(STAND_IN);
    this.#provenance.push(Object.freeze({ segment, seqs: [], tokens, rule: "stand_in" }));
    this.#standIns++;
  }

  /** Anthropic refuses trailing whitespace in a final assistant message. */
  trimEnd(): void {
    const last = this.#chain.messages.at(-1);
    const trimmed = last && withoutTrailingSpace(last);
    const provenance = this.#provenance.at(-1);
    if (last === undefined || trimmed === undefined || trimmed === last || provenance === undefined) return;
    this.#chain.replaceLast(freezeJson(trimmed));
    this.#provenance.splice(-1, 1, freezeJson({ ...provenance, tokens: this.#settings.tokensOf(trimmed) }));
  }

  result(): Built {
    return {
      chain: this.#chain.seal(),
      provenance: Object.freeze(this.#provenance),
      entries: this.#entries + this.#contexts.size,
      standIns: this.#standIns,
      repaired: inOrder(this.#repaired),
      cleared: inOrder(this.#cleared),
      thinkingDropped: inOrder(this.#thinkingDropped),
      blocks: this.#blocks,
      places: this.#places,
    };
  }
}

/** Sorted, without repeats. */
export function inOrder(seqs: readonly number[]): readonly number[] {
  return seqs.length === 0 ? seqs : [...new Set(seqs)].sort((a, b) => a - b);
}

function withoutTrailingSpace(message: Message): Message {
  if (message.role !== "assistant") return message;
  const { content } = message;
  if (typeof content === "string")
    return trimmedEnd(content) === content ? message : { ...message, content: trimmedEnd(content) };
  const at = content.findLastIndex(({ type }) => type === "text");
  const part = content[at];
  if (part?.type !== "text" || trimmedEnd(part.text) === part.text) return message;
  return { ...message, content: content.with(at, { ...part, text: trimmedEnd(part.text) }) };
}

function trimmedEnd(text: string): string {
  return text.trimEnd();
}
