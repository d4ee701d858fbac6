import { freezeJson } from "../../thread/json.ts";
import type { Message, Part } from "../../thread/message.ts";
import { type Block, isAssistant, isOfContext } from "../history/block.ts";
import type { History } from "../history/history.ts";
import type { Settings } from "../input/input.ts";
import type { Provenance, Segment } from "../projection.ts";
import type { LeadingMessages } from "../render/leading-messages.ts";
import type { RenderedBlock, Shrinking } from "../render/render-block.ts";
import { rulesOf } from "../rules.ts";
import { PLACEHOLDER_MESSAGE } from "../window/window-costs.ts";
import type { Engine } from "./engine.ts";
import { FingerprintChain } from "./fingerprint.ts";

/** The rendered messages of a context window, with the facts that decided them. */
export interface Assembly extends MessageList {
  readonly headSeqs: readonly number[];
  /** Entries of the running turn whose thinking is kept although messages before it have changed. */
  readonly thinkingStale: readonly number[];
}

/**
 * The first block (a message, or a model answer with its tool results) of the window, and how the newest block is
 * shortened.
 */
export interface WindowRange {
  readonly start: number;
  /** The block whose tool results are shortened if the window does not fit. */
  readonly newest: number;
  readonly shrunk: Shrinking | undefined;
}

/** Builds the messages in order, because whether thinking is kept depends on all messages before it. */
export function assemble(
  engine: Engine,
  settings: Settings,
  leading: LeadingMessages,
  shown: WindowRange,
  before?: FingerprintChain,
): Assembly {
  const { history, costs } = engine;
  const { start, newest, shrunk } = shown;
  const rev = engine.renderOptions.rev();
  const running = rulesOf(settings.rules).keepsRunningThinking ? runningTurnStart(history) : history.blocks.length;
  const thinkingStale: number[] = [];
  const builder = new MessageListBuilder(settings, before);
  if (leading.system !== undefined) builder.add(leading.system);
  if (leading.summary !== undefined) builder.add(leading.summary);
  const head = costs.headOf(start);
  for (const index of head) builder.add(costs.renderedBlock(index, { head: true }), history.blocks[index]);
  const segmentAt = (index: number): Segment => ((history.blocks[index]?.seq ?? -1) >= rev ? "pending" : "history");
  if (costs.needsPlaceholder(start)) builder.addPlaceholder(costs.placeholderTokens, segmentAt(start));
  for (let index = start; index < history.blocks.length; index++) {
    if (index > start && costs.hasGapBefore(index)) builder.addPlaceholder(costs.placeholderTokens, segmentAt(index));
    const block = history.blocks[index];
    const own = costs.variantFrom(start, index);
    const variant = index === newest && shrunk !== undefined ? { ...own, shrunk } : own;
    const rendered = costs.renderedBlock(index, variant);
    const isStale = mayLoseThinking(settings, block, rendered) && !fingerprintsOf(block).has(builder.fingerprint);
    const loses = isStale && index < running;
    if (isStale && !loses) thinkingStale.push(...entriesWithThinking(block, engine));
    builder.add(loses ? costs.renderedBlock(index, { ...variant, withoutThinking: true }) : rendered, block);
  }
  builder.trimEnd();
  return {
    ...builder.result(),
    headSeqs: head.map((index) => history.blocks[index]?.seq ?? -1),
    thinkingStale: sortedUnique(thinkingStale),
  };
}

/**
 * Returns the first block of the running turn: the one after the last answer. A user message after tool results belongs
 * to that turn, because Anthropic merges both and still requires the thinking of the earlier calls.
 */
function runningTurnStart({ blocks }: History): number {
  return blocks.findLastIndex(({ type }) => type === "answer") + 1;
}

/**
 * Whether the policy "auto" drops a block's thinking. It is kept only if its model call was shown the same earlier
 * messages.
 */
function mayLoseThinking(
  { policy }: Settings,
  block: Block | undefined,
  { messages: [message] }: RenderedBlock,
): boolean {
  if (policy.thinking !== "auto" || !isAssistant(block) || typeof message?.content !== "object") return false;
  return message.content.some(({ type }) => type === "thinking");
}

/** Returns the entries of a block that have thinking the model is shown. */
function entriesWithThinking(block: Block | undefined, { renderOptions }: Engine): readonly number[] {
  if (!isAssistant(block)) return [];
  const isKept = (part: Part): boolean => part.type === "thinking" && renderOptions.canKeep(part);
  return block.items.flatMap(({ seq, content }) => (typeof content !== "string" && content.some(isKept) ? [seq] : []));
}

function fingerprintsOf(block: Block | undefined): ReadonlySet<string | undefined> {
  return new Set(isAssistant(block) ? block.items.flatMap(({ fingerprint }) => fingerprint ?? []) : []);
}

/** The messages of a context, with facts about them. */
export interface MessageList {
  readonly chain: FingerprintChain;
  readonly provenance: readonly Provenance[];
  /** How many thread entries the messages contain. */
  readonly entries: number;
  readonly placeholders: number;
  readonly repaired: readonly number[];
  readonly cleared: readonly number[];
  readonly thinkingDropped: readonly number[];
  /** The blocks that are shown. `places[i]` is the index of the first message of `blocks[i]`. */
  readonly blocks: readonly Block[];
  readonly places: readonly number[];
}

/** Collects the messages of a projection, with the provenance and tokens of each. */
export class MessageListBuilder {
  readonly #settings: Settings;
  readonly #chain: FingerprintChain;
  readonly #provenance: Provenance[] = [];
  readonly #repaired: number[] = [];
  readonly #cleared: number[] = [];
  readonly #thinkingDropped: number[] = [];
  readonly #contexts = new Set<number>();
  readonly #blocks: Block[] = [];
  readonly #places: number[] = [];
  #entries = 0;
  #placeholders = 0;

  constructor(settings: Settings, before: FingerprintChain | undefined) {
    this.#settings = settings;
    this.#chain = new FingerprintChain(settings.toolsText, before);
  }

  /** The hash over everything added so far. */
  get fingerprint(): string {
    return this.#chain.fingerprint;
  }

  add(rendered: RenderedBlock, block?: Block): void {
    if (block !== undefined) {
      this.#blocks.push(block);
      this.#places.push(this.#chain.messages.length);
    }
    for (const message of rendered.messages) this.#chain.push(message);
    for (const each of rendered.provenance) this.#provenance.push(each);
    this.#repaired.push(...rendered.repaired);
    this.#cleared.push(...rendered.cleared);
    this.#thinkingDropped.push(...rendered.thinkingDropped);
    const isContext = block !== undefined && isOfContext(block);
    if (isContext) this.#contexts.add(block.seq);
    this.#entries += rendered.entries - (isContext ? 1 : 0);
  }

  /** Adds a placeholder user message, which some providers require. It gets the segment of the message after it. */
  addPlaceholder(tokens: number, segment: Segment): void {
    this.#chain.push(PLACEHOLDER_MESSAGE);
    this.#provenance.push(Object.freeze({ segment, seqs: [], tokens, rule: "stand_in" }));
    this.#placeholders++;
  }

  /** Removes whitespace at the end of a final assistant message, because Anthropic refuses it. */
  trimEnd(): void {
    const last = this.#chain.messages.at(-1);
    const trimmed = last && withoutTrailingSpace(last);
    const provenance = this.#provenance.at(-1);
    if (last === undefined || trimmed === undefined || trimmed === last || provenance === undefined) return;
    this.#chain.replaceLast(freezeJson(trimmed));
    this.#provenance.splice(-1, 1, freezeJson({ ...provenance, tokens: this.#settings.tokensOf(trimmed) }));
  }

  result(): MessageList {
    return {
      chain: this.#chain.seal(),
      provenance: Object.freeze(this.#provenance),
      entries: this.#entries + this.#contexts.size,
      placeholders: this.#placeholders,
      repaired: sortedUnique(this.#repaired),
      cleared: sortedUnique(this.#cleared),
      thinkingDropped: sortedUnique(this.#thinkingDropped),
      blocks: this.#blocks,
      places: this.#places,
    };
  }
}

/** Returns the seqs sorted and without duplicates. */
function sortedUnique(seqs: readonly number[]): readonly number[] {
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
