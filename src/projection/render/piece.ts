import { INTERRUPTED } from "../../lanes/results.ts";
import { freezeJson } from "../../thread/json.ts";
import type { Content, Message, Part, ThinkingPart, ToolMessage } from "../../thread/message.ts";
import { approvalMetadata } from "../../thread/messages/approval.ts";
import { isProviderRun, type ProviderRunPart } from "../../thread/provider-executor.ts";
import { type Block, type Call, isAssistant } from "../history/block.ts";
import type { Provenance } from "../projection.ts";
import { assistantMessage } from "./assistant.ts";
import { shownIds, shownName } from "./ids.ts";
import { clearedText, contentBytes, shortened } from "./shorten.ts";

/** The messages of one block, and their cost. */
export interface Piece {
  readonly messages: readonly Message[];
  readonly provenance: readonly Provenance[];
  readonly tokens: number;
  /** The number of thread entries in it. Messages of a replaced context count as their one replace entry. */
  readonly entries: number;
  /** Entries with a call that got a synthetic result. */
  readonly repaired: readonly number[];
  /** Results that are replaced with a marker. */
  readonly cleared: readonly number[];
  /** Entries whose thinking is left out. */
  readonly thinkingDropped: readonly number[];
}

/** How a block is rendered, depending on the window around it. */
export interface Variant {
  /** One of its call ids is also used by an earlier block that is shown. */
  readonly repeatsIds?: boolean;
  /** Its results are replaced with markers. */
  readonly cleared?: boolean;
  /** Thinking is left out even if the model could read it. */
  readonly withoutThinking?: boolean;
  /** The block is the head of a request that the window cuts. */
  readonly head?: boolean;
  /** The bytes kept at each end of a result, by slot. */
  readonly shrunk?: ReadonlyMap<number, number>;
}

export interface RenderOptions {
  readonly tokensOf: (message: Message) => number;
  /** Bytes kept at each end of a result that is too long. 0 is off. */
  readonly bytesPerEnd: number;
  /** Whether thinking is shown to the called model. */
  readonly canKeep: (part: ThinkingPart) => boolean;
  /** Whether a call that was approved and has not run yet keeps its approval. */
  readonly keepsApprovals: boolean;
  /** Whether the called model can read a call that a provider ran. */
  readonly canReadRun: (part: ProviderRunPart) => boolean;
  /** Seqs from here on belong to pending items. */
  readonly rev: number;
}

type Rule = NonNullable<Provenance["rule"]>;
type Detail = { readonly seqs: readonly number[]; readonly rule?: Rule };

/** Renders a block to messages. */
export function renderBlock(block: Block, variant: Variant, options: RenderOptions): Piece {
  if (block.type === "unreadable") throw block.item.error;
  const messages: Message[] = [];
  const details: Detail[] = [];
  const keeps = variant.withoutThinking ? () => false : options.canKeep;
  if (isAssistant(block)) {
    const ids = shownIds(block, variant.repeatsIds === true);
    messages.push(assistantMessage(block, ids, (part) => isShown(part, keeps, options)));
    details.push({ seqs: [...new Set(block.items.map(({ seq }) => seq))] });
    for (const [slot, call] of block.calls.entries()) {
      const [message, detail] = renderResult(
        call,
        ids[slot] ?? call.call.id,
        variant,
        variant.shrunk?.get(slot),
        options,
      );
      messages.push(message);
      details.push(detail);
    }
  } else {
    messages.push({ role: "user", content: block.item.content });
    const rule = variant.head ? "head" : block.type === "label" ? "relabelled" : undefined;
    details.push({ seqs: [block.seq], ...(rule && { rule }) });
  }
  return { ...pieceOf(messages, details, block, options), thinkingDropped: withLostThinking(block, keeps) };
}

function isShown(part: Part, keeps: RenderOptions["canKeep"], { canReadRun }: RenderOptions): boolean {
  if (part.type === "thinking") return keeps(part);
  return !isProviderRun(part) || canReadRun(part);
}

function withLostThinking(block: Block, keeps: (part: ThinkingPart) => boolean): readonly number[] {
  if (!isAssistant(block)) return [];
  const isLost = (part: Part): boolean => part.type === "thinking" && !keeps(part);
  const losing = block.items.filter(({ content }) => typeof content !== "string" && content.some(isLost));
  return [...new Set(losing.map(({ seq }) => seq))];
}

function renderResult(
  { call, result }: Call,
  toolCallId: string,
  variant: Variant,
  shrunkTo: number | undefined,
  { bytesPerEnd, keepsApprovals }: RenderOptions,
): [ToolMessage, Detail] {
  const { content, isError } = result ?? INTERRUPTED;
  const as = (content: Content, rule?: Rule): [ToolMessage, Detail] => [
    { role: "tool", toolCallId, name: shownName(call.name), content, ...(isError && { isError }) },
    { seqs: result === undefined ? [] : [result.seq], ...(rule && { rule }) },
  ];
  if (result === undefined && keepsApprovals && call.approval?.approved === true) {
    const [message, detail] = as(NOT_RUN, "interrupted");
    return [{ ...message, metadata: approvalMetadata(call.approval) }, detail];
  }
  if (result === undefined) return as(content, "interrupted");
  const marker = variant.cleared ? clearedText(content, result.seq) : undefined;
  if (marker !== undefined && contentBytes(marker) < contentBytes(content)) return as(marker, "cleared");
  const limit = Math.min(shrunkTo ?? Number.POSITIVE_INFINITY, bytesPerEnd || Number.POSITIVE_INFINITY);
  const short = shortened(content, result.seq, limit);
  return short === content ? as(content) : as(short, shrunkTo === limit ? "shrunk" : "shortened");
}

/** A result that every provider accepts. `toModelMessages` replaces it with the approval, and the AI SDK runs the call. */
const NOT_RUN = JSON.stringify({
  error: { type: "not_run", message: "The call was approved and has not run yet." },
});

function pieceOf(
  messages: readonly Message[],
  details: readonly Detail[],
  block: Block,
  options: RenderOptions,
): Omit<Piece, "thinkingDropped"> {
  const { tokensOf, rev } = options;
  const segment = block.seq >= rev ? "pending" : "history";
  const provenance = details.map((detail, index): Provenance => {
    const message = messages[index];
    const tokens = message === undefined ? 0 : tokensOf(message);
    return freezeJson({ segment, ...detail, seqs: detail.seqs.filter((seq) => seq < rev), tokens });
  });
  return {
    messages: freezeJson(messages),
    provenance,
    tokens: provenance.reduce((sum, { tokens }) => sum + tokens, 0),
    entries: new Set(provenance.flatMap(({ seqs }) => seqs)).size,
    repaired: block.calls.flatMap(({ by, result }) => (result === undefined && by.seq < rev ? [by.seq] : [])),
    cleared: provenance.flatMap(({ seqs, rule }) => (rule === "cleared" ? seqs : [])),
  };
}
