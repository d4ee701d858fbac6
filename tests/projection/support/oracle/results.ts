import type { Content, ContextPolicy, Part } from "heddle";
import type { PartMetadata } from "heddle/core";
import { type Block, type Call, firstOf, isExchange, openersOf } from "./blocks.ts";
import { partsOf } from "./content.ts";
import { bytesOf, sum } from "./log.ts";
import type { Item } from "./read.ts";

const INTERRUPTED = JSON.stringify({
  error: { type: "interrupted", message: "The call was interrupted; its outcome is unknown." },
});

const NOT_RUN = JSON.stringify({
  error: { type: "not_run", message: "The call was approved and has not run yet." },
});

/** Bytes that results are cut down to because the newest block did not fit. */
export type Shrunk = ReadonlyMap<Call, number>;

export interface ShownResult {
  readonly content: Content;
  readonly isError: boolean;
  readonly metadata?: PartMetadata;
  readonly rule?: "interrupted" | "cleared" | "shortened" | "shrunk";
}

export function shownResult(call: Call, { policy, shrunk, noted }: Shrinking, cleared: boolean): ShownResult {
  const { result } = call;
  const { approval } = call;
  if (result?.what.type !== "result" && approval?.approved === true) {
    return { content: NOT_RUN, isError: true, rule: "interrupted", metadata: { heddle: { approval } } };
  }
  if (result?.what.type !== "result") return { content: INTERRUPTED, isError: true, rule: "interrupted" };
  const { content, isError } = result.what;
  const { seq } = result.place;
  if (cleared) {
    const marker = `[Result of entry ${seq} cleared: ${bytesOfContent(content)} bytes]`;
    if (bytesOf(marker) < bytesOfContent(content)) return { content: marker, isError, rule: "cleared" };
  }
  const limit = shrunk.get(call);
  if (limit !== undefined)
    return { content: withNotes(shortened(content, limit, seq), noted), isError, rule: "shrunk" };
  const { maxTokens } = policy.toolResults;
  const short = maxTokens > 0 ? shortened(content, 4 * maxTokens, seq) : content;
  if (isNoted(call, noted)) return { content: withNotes(short, noted), isError, rule: "shrunk" };
  return { content: short, isError, ...(short !== content && { rule: "shortened" as const }) };
}

interface Shrinking {
  readonly policy: ContextPolicy;
  readonly shrunk: Shrunk;
  readonly noted: ReadonlySet<Part>;
}

/** The files of a result that is shown. */
export function filesOf({ result }: Call): readonly Part[] {
  return result?.what.type === "result" ? partsOf(result.what.content).filter(({ type }) => type === "file") : [];
}

/** Whether a note stands for one of its files. */
export function isNoted(call: Call, noted: ReadonlySet<Part>): boolean {
  return filesOf(call).some((file) => noted.has(file));
}

function withNotes(content: Content, noted: ReadonlySet<Part>): Content {
  if (typeof content === "string") return content;
  return content.map((part): Part => {
    if (part.type !== "file" || !noted.has(part)) return part;
    const { filename, mediaType } = part;
    const name = filename === undefined ? "" : `${filename}, `;
    return { type: "text", text: `[A file (${name}${mediaType}) that cannot fit here]` };
  });
}

export function bytesOfContent(content: Content): number {
  return sum(partsOf(content).map((part) => bytesOf(part.type === "text" ? part.text : JSON.stringify(part))));
}

/** Texts that have more bytes together than the limit, cut to head and tail; the very same content when it gains nothing. */
function shortened(content: Content, limit: number, seq: number): Content {
  const parts = partsOf(content);
  const characters = parts.flatMap((part, at) =>
    part.type === "text" ? [...part.text].map((character) => ({ character, at })) : [],
  );
  const size = (list: Readonly<typeof characters>) => bytesOf(list.map(({ character }) => character).join(""));
  const bytes = size(characters);
  if (bytes <= limit) return content;
  const room = Math.floor(limit / 2);
  const head = fitting(characters, room);
  const tail = fitting(characters.toReversed(), room).toReversed();
  const marker = `\n[... ${bytes - size(head) - size(tail)} of ${bytes} bytes of entry ${seq} left out ...]\n`;
  if (size(head) + size(tail) + bytesOf(marker) >= bytes) return content;
  const ofPart = (list: Readonly<typeof characters>, at: number) =>
    list.flatMap((each) => (each.at === at ? [each.character] : [])).join("");
  const isCut = (part: (typeof parts)[number], at: number) =>
    part.type === "text" && ofPart(head, at) !== part.text && ofPart(tail, at) !== part.text;
  const first = parts.findIndex(isCut);
  const cut = parts.flatMap((part, at) => {
    if (part.type !== "text" || !isCut(part, at)) return [part];
    const text = ofPart(head, at) + (at === first ? marker : "") + ofPart(tail, at);
    return text === "" ? [] : [{ ...part, text }];
  });
  const [only] = cut;
  return typeof content === "string" && only?.type === "text" ? only.text : cut;
}

/** As many of the first characters as there is room for. */
function fitting<T extends { character: string }>(characters: readonly T[], room: number): readonly T[] {
  let bytes = 0;
  const end = characters.findIndex(({ character }) => {
    bytes += bytesOf(character);
    return bytes > room;
  });
  return end < 0 ? characters : characters.slice(0, end);
}

/** The exchanges whose results are replaced by markers, by index. */
export function clearedOf(blocks: readonly Block[], policy: ContextPolicy, measure: number): number[] {
  const { toolResults, keepLastTurns, window } = policy;
  if (toolResults.keepLast === 0) return [];
  const unit = unitOf(policy);
  const line = window.mode === "stable" ? Math.floor(measure / unit) * unit : Number.POSITIVE_INFINITY;
  const isBefore = (index: number) => positionOf(blocks[index]) < line;
  const exchanges = blocks.flatMap((block, index) => (isExchange(block) && isBefore(index) ? [index] : []));
  const openers = openersOf(blocks).filter(isBefore);
  return exchanges.filter(
    (index) =>
      exchanges.filter((other) => other > index).length >= toolResults.keepLast &&
      openers.filter((opener) => opener > index).length >= keepLastTurns,
  );
}

export function unitOf({ window, maxInputTokens, reserveOutputTokens }: ContextPolicy): number {
  return Math.max(1, Math.floor(window.step * (maxInputTokens - reserveOutputTokens)));
}

export function positionOf(block: Block | undefined): number {
  return block === undefined ? Number.NEGATIVE_INFINITY : firstOf(block).place.position;
}

export function resultsOf(block: Block): Item[] {
  return block.calls.flatMap(({ result }) => result ?? []);
}
