import type { Content, ContextPolicy } from "heddle";
import { type Block, type Call, firstOf, isExchange, openersOf } from "./blocks.ts";
import { partsOf } from "./content.ts";
import { bytesOf, sum } from "./log.ts";
import type { Item } from "./read.ts";

const INTERRUPTED = JSON.stringify({
  error: { type: "interrupted", message: "The call was interrupted; its outcome is unknown." },
});

/** Bytes that results are cut down to because the newest block did not fit. */
export type Shrunk = ReadonlyMap<Call, number>;

export interface ShownResult {
  readonly content: Content;
  readonly isError: boolean;
  readonly rule?: "interrupted" | "cleared" | "shortened" | "shrunk";
}

export function shownResult(call: Call, policy: ContextPolicy, cleared: boolean, shrunk: Shrunk): ShownResult {
  const { result } = call;
  if (result?.what.type !== "result") return { content: INTERRUPTED, isError: true, rule: "interrupted" };
  const { content, isError } = result.what;
  const { seq } = result.place;
  if (cleared) {
    const marker = `[Result of entry ${seq} cleared: ${bytesOfContent(content)} bytes]`;
    return { content: marker, isError, rule: "cleared" };
  }
  const limit = shrunk.get(call);
  if (limit !== undefined) return { content: shortened(content, limit, seq), isError, rule: "shrunk" };
  const { maxTokens } = policy.toolResults;
  const short = maxTokens > 0 ? shortened(content, 4 * maxTokens, seq) : content;
  return { content: short, isError, ...(short !== content && { rule: "shortened" as const }) };
}

export function bytesOfContent(content: Content): number {
  return sum(partsOf(content).map((part) => bytesOf(part.type === "text" ? part.text : JSON.stringify(part))));
}

/** Texts of more bytes than the limit, cut to head and tail; the very same content when there are none. */
export function shortened(content: Content, limit: number, seq: number): Content {
  if (typeof content === "string") return bytesOf(content) > limit ? headAndTail(content, limit, seq) : content;
  if (!content.some((part) => part.type === "text" && bytesOf(part.text) > limit)) return content;
  return content.map((part) =>
    part.type === "text" && bytesOf(part.text) > limit ? { ...part, text: headAndTail(part.text, limit, seq) } : part,
  );
}

function headAndTail(text: string, limit: number, seq: number): string {
  const characters = [...text];
  const head = fitting(characters, limit / 2);
  const tail = fitting(characters.toReversed(), limit / 2).toReversed();
  const bytes = bytesOf(text);
  const left = bytes - bytesOf([...head, ...tail].join(""));
  return `${head.join("")}\n[... ${left} of ${bytes} bytes of entry ${seq} left out ...]\n${tail.join("")}`;
}

/** As many of the first characters as there is room for. */
function fitting(characters: readonly string[], room: number): readonly string[] {
  let bytes = 0;
  const end = characters.findIndex((character) => {
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
