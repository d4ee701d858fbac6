import { portableSha256 } from "../../thread/encoding.ts";
import { freezeJson } from "../../thread/json.ts";
import type {
  AssistantMessage,
  Content,
  Message,
  Part,
  ThinkingPart,
  ToolCall,
  ToolMessage,
} from "../../thread/message.ts";
import { INTERRUPTED, isProviderExecuted, type ProviderExecutedPart } from "../../thread/message.ts";
import { approvalMetadata } from "../../thread/messages/approval.ts";
import { type AssistantBlock, type AssistantItem, type Block, type Call, isAssistant } from "../history/block.ts";
import type { Provenance } from "../projection.ts";
import { clearedMarker, contentBytes, shortenContent, withoutFiles } from "./shorten.ts";

/** The messages of one block (a message, or a model answer with its tool results), and their tokens. */
export interface RenderedBlock {
  readonly messages: readonly Message[];
  readonly provenance: readonly Provenance[];
  readonly tokens: number;
  /** How many thread entries it contains. All messages of a `replace` operation count as its one entry. */
  readonly entries: number;
  /** Entries with a call that got a synthetic result. */
  readonly repaired: readonly number[];
  /** Results that are replaced with a marker. */
  readonly cleared: readonly number[];
  /** Entries whose thinking is left out. */
  readonly thinkingDropped: readonly number[];
}

/** How a block is rendered in a particular context window. */
export interface RenderVariant {
  /** An earlier shown block uses one of the same call ids, so the ids of this block are replaced. */
  readonly repeatsIds?: boolean;
  /** The tool results are replaced with markers. */
  readonly cleared?: boolean;
  /** Thinking is left out even if the model could read it. */
  readonly withoutThinking?: boolean;
  /** The block is a user message from before the window, kept because the window cuts its request. */
  readonly head?: boolean;
  readonly shrunk?: Shrinking;
}

/** How the results of a block are made shorter. */
export interface Shrinking {
  /** The bytes kept at each end of a result, by the index of its call. */
  readonly perEnd: ReadonlyMap<number, number>;
  /** The files that are replaced with notes. */
  readonly noted: ReadonlySet<Part>;
}

export interface RenderOptions {
  readonly tokensOf: (message: Message) => number;
  /** The bytes kept at each end of a result that is too long. 0 means no limit. */
  readonly bytesPerEnd: number;
  /** Whether the called model can read this thinking. */
  readonly canKeep: (part: ThinkingPart) => boolean;
  /** Whether a call that was approved and has not run keeps its approval. */
  readonly keepsApprovals: boolean;
  /** Whether the called model can read a call that a provider ran. */
  readonly canReadRun: (part: ProviderExecutedPart) => boolean;
  /** Entries with this seq or a later one are pending, not stored. */
  readonly rev: () => number;
}

type ProvenanceRule = NonNullable<Provenance["rule"]>;
type MessageSource = { readonly seqs: readonly number[]; readonly rule?: ProvenanceRule };

/** Renders a block to messages. */
export function renderBlock(block: Block, variant: RenderVariant, options: RenderOptions): RenderedBlock {
  if (block.type === "unreadable") throw block.item.error;
  const messages: Message[] = [];
  const details: MessageSource[] = [];
  const keeps = variant.withoutThinking ? () => false : options.canKeep;
  if (isAssistant(block)) {
    const ids = shownCallIds(block, variant.repeatsIds === true);
    messages.push(assistantMessage(block, ids, (part) => isShown(part, keeps, options)));
    details.push({ seqs: [...new Set(block.items.map(({ seq }) => seq))] });
    for (const [slot, call] of block.calls.entries()) {
      const [message, detail] = renderResult(call, ids[slot] ?? call.call.id, variant, slot, options);
      messages.push(message);
      details.push(detail);
    }
  } else {
    messages.push({ role: "user", content: block.item.content });
    const rule = variant.head ? "head" : block.type === "label" ? "relabelled" : undefined;
    details.push({ seqs: [block.seq], ...(rule && { rule }) });
  }
  return {
    ...renderedBlockOf(messages, details, block, options),
    thinkingDropped: entriesLosingThinking(block, keeps),
  };
}

function isShown(part: Part, keeps: RenderOptions["canKeep"], { canReadRun }: RenderOptions): boolean {
  if (part.type === "thinking") return keeps(part);
  return !isProviderExecuted(part) || canReadRun(part);
}

function entriesLosingThinking(block: Block, keeps: (part: ThinkingPart) => boolean): readonly number[] {
  if (!isAssistant(block)) return [];
  const isLost = (part: Part): boolean => part.type === "thinking" && !keeps(part);
  const losing = block.items.filter(({ content }) => typeof content !== "string" && content.some(isLost));
  return [...new Set(losing.map(({ seq }) => seq))];
}

function renderResult(
  { call, result }: Call,
  toolCallId: string,
  variant: RenderVariant,
  slot: number,
  { bytesPerEnd, keepsApprovals }: RenderOptions,
): [ToolMessage, MessageSource] {
  const { content, isError } = result ?? INTERRUPTED;
  const as = (content: Content, rule?: ProvenanceRule): [ToolMessage, MessageSource] => [
    { role: "tool", toolCallId, name: shownToolName(call.name), content, ...(isError && { isError }) },
    { seqs: result === undefined ? [] : [result.seq], ...(rule && { rule }) },
  ];
  if (result === undefined && keepsApprovals && call.approval?.approved === true) {
    const [message, detail] = as(NOT_RUN_RESULT, "interrupted");
    return [{ ...message, metadata: approvalMetadata(call.approval) }, detail];
  }
  if (result === undefined) return as(content, "interrupted");
  const marker = variant.cleared ? clearedMarker(content, result.seq) : undefined;
  if (marker !== undefined && contentBytes(marker) < contentBytes(content)) return as(marker, "cleared");
  const { shrunk } = variant;
  const shrunkTo = shrunk?.perEnd.get(slot);
  const limit = Math.min(shrunkTo ?? Number.POSITIVE_INFINITY, bytesPerEnd || Number.POSITIVE_INFINITY);
  const short = shortenContent(content, result.seq, limit);
  const noted = withoutFiles(short, shrunk?.noted);
  if (noted === content) return as(content);
  return as(noted, shrunkTo === limit || noted !== short ? "shrunk" : "shortened");
}

/**
 * The placeholder result of a call that was approved and has not run. `toModelMessages` replaces it with the approval,
 * and the AI SDK runs the call.
 */
const NOT_RUN_RESULT = JSON.stringify({
  error: { type: "not_run", message: "The call was approved and has not run yet." },
});

function renderedBlockOf(
  messages: readonly Message[],
  details: readonly MessageSource[],
  block: Block,
  options: RenderOptions,
): Omit<RenderedBlock, "thinkingDropped"> {
  const { tokensOf } = options;
  const rev = options.rev();
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

/** Makes the assistant message of a block from the content of all its entries, in order. */
function assistantMessage(
  { items, calls }: AssistantBlock,
  ids: readonly string[],
  isShown: (part: Part) => boolean,
): AssistantMessage {
  const toolCalls = calls.map(({ call }, slot) => shownCall(call, ids[slot] ?? call.id));
  const content = shownParts(joinedContent(items, ids), isShown);
  return { role: "assistant", content, ...(toolCalls.length > 0 && { toolCalls }) };
}

/** Makes a call without its approval, which is never shown to a model. */
function shownCall({ approval: _, ...call }: ToolCall, id: string): ToolCall {
  return { ...call, id, name: shownToolName(call.name) };
}

function joinedContent(items: readonly AssistantItem[], ids: readonly string[]): Content {
  const [only, ...others] = items;
  if (only !== undefined && others.length === 0) return withShownCallIds(only.content, only.calls, ids);
  let slot = 0;
  const parts = items.flatMap(({ content, calls }) => {
    const own = ids.slice(slot, slot + calls.length);
    slot += calls.length;
    return withCallPositions(withShownCallIds(content, calls, own), own);
  });
  // Positions of calls at the end are removed, because calls without a position are shown at the end anyway.
  const end = parts.findLastIndex(({ type }) => type !== "tool_call") + 1;
  return asContent(parts.slice(0, end));
}

/** Replaces call ids in the content, where they mark the positions of calls. */
function withShownCallIds(content: Content, calls: readonly ToolCall[], ids: readonly string[]): Content {
  if (typeof content === "string" || !content.some(({ type }) => type === "tool_call")) return content;
  const placed = new Set<number>();
  const parts = content.flatMap((part): readonly Part[] => {
    if (part.type !== "tool_call") return [part];
    const slot = calls.findIndex(({ id }, at) => id === part.id && !placed.has(at));
    const id = ids[slot];
    placed.add(slot);
    return id === undefined ? [] : [id === part.id ? part : { ...part, id }];
  });
  return parts.length === content.length && parts.every((part, index) => part === content[index]) ? content : parts;
}

/** Returns the content parts of one entry, with a position part for each of its calls. */
function withCallPositions(content: Content, ids: readonly string[]): readonly Part[] {
  const parts: readonly Part[] = typeof content !== "string" ? content : content === "" ? [] : [textPart(content)];
  const placed = new Set(parts.map((part) => (part.type === "tool_call" ? part.id : undefined)));
  return [...parts, ...ids.filter((id) => !placed.has(id)).map((id): Part => ({ type: "tool_call", id }))];
}

function shownParts(content: Content, isShown: (part: Part) => boolean): Content {
  if (typeof content === "string") return content;
  const kept = content.filter(isShown);
  return kept.length === content.length ? content : asContent(kept);
}

function asContent(parts: readonly Part[]): Content {
  const [only, ...others] = parts;
  if (only === undefined) return "";
  return only.type === "text" && only.metadata === undefined && others.length === 0 ? only.text : parts;
}

function textPart(content: string): Part {
  return { type: "text", text: content };
}

/**
 * Matches ids that every provider accepts. Ids that look like those of `makeCallId` are replaced too, so that none can
 * be equal.
 */
const VALID_CALL_ID = /^(?!hd_[\w-]{22,37}$)[A-Za-z0-9_-]{1,40}$/;

/**
 * Returns the call ids that the model is shown. A call keeps its id, unless providers would refuse it. If one id
 * repeats an earlier one, all ids of the block are replaced, because some servers number calls from 0 in each answer.
 */
export function shownCallIds({ calls }: Block, repeatsEarlier: boolean): readonly string[] {
  const uses = new Map<string, number>();
  for (const { call } of calls) uses.set(call.id, (uses.get(call.id) ?? 0) + 1);
  return calls.map((call, slot) => {
    const { id } = call.call;
    return !repeatsEarlier && VALID_CALL_ID.test(id) && uses.get(id) === 1 ? id : makeCallId(call, slot);
  });
}

/** Makes a unique, stable id for a call. If possible it is as long as the old id, so that it does not cost less. */
function makeCallId({ call, by }: Call, slot: number): string {
  const place = by.index === undefined ? [by.seq] : [by.seq, by.index];
  const hash = portableSha256(JSON.stringify([by.callId ?? "", call.id, slot, ...place]));
  return `hd_${hash.slice(0, Math.min(37, Math.max(22, call.id.length - 3)))}`;
}

/** Returns the tool name in a form that every provider accepts. */
function shownToolName(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/gu, "_").slice(0, 64) || "tool";
}
