import type { Entry } from "../../thread/entry.ts";
import { LaneReader, namedLane, replaceBase, summaryReach } from "../../thread/lane-operations.ts";
import type { RenderPass } from "../engine/render-pass.ts";
import { type Block, type Call, isAssistant, isOfContext, type ResultItem } from "../history/block.ts";
import type { EntryRule, EntryStatus, ExplainedEntry } from "../projection.ts";
import { rulesOf } from "../rules.ts";

/** Returns the status of every entry, in order. Entries that are not loaded are listed as ranges. */
export function explainEntries(pass: RenderPass): ExplainedEntry[] {
  const { engine, thread } = pass;
  const explanations = new Map([...explainBlocks(pass), ...explainDropped(pass)]);
  const contexts = new Set(engine.history.blocks.filter(isOfContext).map(({ seq }) => seq));
  // A lane that branched off another lane also shows that lane's summary and `replace` entry.
  const explainElsewhere = (entry: Entry): EntryExplanation => {
    if (entry === engine.history.summaries.summary) return explainSummary(pass, entry);
    if (contexts.has(entry.seq)) return explainContext(pass, entry);
    return { status: "other_lane", rule: "lane_not_projected", tokens: 0 };
  };
  const reader = new LaneReader(thread.base, rulesOf(pass.settings.rules));
  const explained = (entry: Entry, lane: string): ExplainedEntry => {
    const explanation =
      explanations.get(entry.seq) ?? (lane === engine.lane ? explainOnLane(pass, entry) : explainElsewhere(entry));
    return { seq: entry.seq, kind: entry.kind, ...explanation };
  };
  const loaded = thread.toArray({ partial: true }).map((entry) => explained(entry, reader.read(entry)));
  const known = entriesOfBase(pass).map((entry) => explained(entry, namedLane(entry) ?? engine.lane));
  return thread.firstSeq === 0 ? loaded : [...withGaps(known, thread.firstSeq), ...loaded];
}

/** Returns the entries from before the loaded ones that this lane uses: its first `replace` and its summary. */
function entriesOfBase({ engine, thread: { firstSeq } }: RenderPass): readonly Entry[] {
  const used = [engine.log.anchor, engine.history.summaries.summary];
  const known = new Map(used.flatMap((entry) => (entry && entry.seq < firstSeq ? [[entry.seq, entry] as const] : [])));
  return [...known.values()].sort((a, b) => a.seq - b.seq);
}

/** Adds a row for each range of entries that are not loaded. */
function withGaps(rows: readonly ExplainedEntry[], end: number): readonly ExplainedEntry[] {
  const all: ExplainedEntry[] = [];
  let next = 0;
  const gapTo = (seq: number): void => {
    if (next < seq) all.push({ seq: next, kind: "", fromSeq: next, toSeq: seq - 1, ...NOT_LOADED });
    next = seq + 1;
  };
  for (const row of rows) {
    gapTo(row.seq);
    all.push(row);
  }
  gapTo(end);
  return all;
}

const NOT_LOADED = { status: "not_loaded", rule: "before_loaded", tokens: 0 } as const;

/** Yields the status of every entry that is part of a block. */
function* explainBlocks(pass: RenderPass): Iterable<[number, EntryExplanation]> {
  const { engine, assembly, thread } = pass;
  const { blocks } = engine.history;
  const cut = new Set(engine.log.items.flatMap((item) => (item.cut === undefined ? [] : [item.entry.seq])));
  const places = new Map(assembly.blocks.map((block, index) => [block, assembly.places[index]]));
  for (const [index, block] of blocks.entries()) {
    if (isOfContext(block) && block.calls.every(({ result }) => result?.index !== undefined)) continue;
    const message = places.get(block);
    const explanation = blockStatus(pass, index, message !== undefined);
    for (const { seq, at, tokens, isRepaired, isCleared } of partsOf(pass, index, block, message)) {
      if (seq >= thread.rev) continue;
      const other = isCleared ? CLEARED : isRepaired ? REPAIRED : cut.has(seq) ? CUT : explanation;
      const its = message === undefined ? explanation : other;
      const author = block.type === "user" && message !== undefined ? block.item.author : undefined;
      yield [
        seq,
        { ...its, tokens, ...(message !== undefined && { message: message + at }), ...(author && { author }) },
      ];
    }
  }
}

const CLEARED = { status: "cleared", rule: "result_cleared" } as const;
const CUT = { status: "shown", rule: "answer_cut" } as const;
const REPAIRED = { status: "repaired", rule: "call_interrupted" } as const;

function blockStatus(
  { engine, window }: RenderPass,
  index: number,
  isShown: boolean,
): { status: EntryStatus; rule: EntryRule } {
  if (isShown)
    return index >= window.start
      ? { status: "shown", rule: "in_window" }
      : { status: "shown", rule: "head_of_cut_request" };
  return (engine.history.blocks[index]?.open ?? -1) <= engine.history.coverage.edge
    ? { status: "summarised", rule: "covered_by_summary" }
    : { status: "cut", rule: "before_window" };
}

interface PartOfBlock {
  readonly seq: number;
  /** A block has one or more messages. This is the index of the message that shows the entry. */
  readonly at: number;
  readonly tokens: number;
  readonly isRepaired: boolean;
  readonly isCleared: boolean;
}

/**
 * Lists the parts of a block with their tokens. A message counts for its first entry, a synthetic result for the entry
 * of its call.
 */
function partsOf(pass: RenderPass, index: number, block: Block, message: number | undefined): readonly PartOfBlock[] {
  const tokens = tokensOf(pass, index, block, message);
  const cleared = new Set(block.calls.length === 0 ? [] : pass.assembly.cleared);
  const part = { isRepaired: false, isCleared: false };
  if (!isAssistant(block)) return [{ seq: block.seq, at: 0, tokens: tokens[0] ?? 0, ...part }];
  const parts = new Map<number, PartOfBlock>();
  const add = (seq: number, at: number, its: Partial<PartOfBlock>, cost: number): void => {
    const before = parts.get(seq) ?? { seq, at, tokens: 0, ...part };
    parts.set(seq, { ...before, ...its, tokens: before.tokens + cost });
  };
  for (const [at, { seq }] of block.items.entries()) add(seq, 0, {}, at === 0 ? (tokens[0] ?? 0) : 0);
  for (const [slot, { by, result }] of block.calls.entries()) {
    const cost = tokens[slot + 1] ?? 0;
    if (result === undefined) add(by.seq, 0, { isRepaired: true }, cost);
    else add(result.seq, slot + 1, { isCleared: cleared.has(result.seq) }, cost);
  }
  return [...parts.values()].filter(({ seq }) => !isOfContext(block) || seq !== block.seq);
}

/** Returns the token count of each message of a block, also of messages that the model is not shown. */
function tokensOf(
  { engine, assembly }: RenderPass,
  index: number,
  block: Block,
  message: number | undefined,
): readonly number[] {
  const messages = 1 + block.calls.length;
  if (message !== undefined) return assembly.provenance.slice(message, message + messages).map(({ tokens }) => tokens);
  if (block.type === "unreadable") return [];
  const rendered = engine.costs.renderedBlock(index, { cleared: index < engine.costs.clearedBefore });
  return rendered.provenance.map(({ tokens }) => tokens);
}

/** Returns the status of an entry of the lane that is in no block and was not dropped. */
function explainOnLane(pass: RenderPass, entry: Entry): EntryExplanation {
  const { engine, settings } = pass;
  const base = engine.log.anchor === undefined ? undefined : replaceBase(engine.log.anchor);
  if (replaceBase(entry) !== undefined && !engine.log.isMalformed(entry)) return explainReplace(pass, entry);
  if (entry.kind === "ai_context_operation") return notProjectable("operation");
  if (entry.kind === "ai_setting") return notProjectable("setting");
  if (!settings.policy.includeKinds.includes(entry.kind)) return notProjectable("kind_not_included");
  if (base !== undefined && entry.seq <= base) return { status: "superseded", rule: "before_replace", tokens: 0 };
  if (entry.kind === "summary") return explainSummary(pass, entry);
  return notProjectable("nothing_to_show");
}

function explainReplace(pass: RenderPass, entry: Entry): EntryExplanation {
  if (entry !== pass.engine.log.anchor) return { status: "superseded", rule: "newer_replace", tokens: 0 };
  return explainContext(pass, entry);
}

function explainContext(pass: RenderPass, entry: Entry): EntryExplanation {
  const { engine, window, assembly } = pass;
  const first = assembly.blocks.findIndex(isOfContext);
  const message = assembly.places[first];
  if (message !== undefined) {
    const tokens = assembly.blocks.reduce((sum, _, place) => sum + contextTokens(pass, entry, place), 0);
    return { status: "shown", rule: "context_in_use", tokens, message };
  }
  const snapshot = engine.history.blocks.findIndex(isOfContext);
  if (snapshot < 0) return notProjectable("operation");
  return snapshot < window.first
    ? { status: "summarised", rule: "covered_by_summary", tokens: 0 }
    : { status: "cut", rule: "before_window", tokens: 0 };
}

/** Returns the tokens of a block from a `replace` operation, without later results, which have their own entries. */
function contextTokens({ assembly }: RenderPass, entry: Entry, place: number): number {
  const block = assembly.blocks[place];
  const message = assembly.places[place];
  if (block === undefined || message === undefined || !isOfContext(block)) return 0;
  const provenance = assembly.provenance.slice(message, message + 1 + block.calls.length);
  return provenance.reduce((sum, { seqs, tokens }) => sum + (seqs.every((seq) => seq === entry.seq) ? tokens : 0), 0);
}

function explainSummary({ engine, leading }: RenderPass, entry: Entry): EntryExplanation {
  if (!engine.showsSummaries) return notProjectable("summaries_off");
  if (summaryReach(entry) === undefined) return notProjectable("malformed_summary");
  if (entry !== engine.history.summaries.summary) return { status: "superseded", rule: "newer_summary", tokens: 0 };
  const tokens = engine.leadingMessages(undefined).summary?.tokens ?? 0;
  if (leading.summary === undefined) return { status: "cut", rule: "before_window", tokens };
  return {
    status: "shown",
    rule: "summary_in_use",
    tokens,
    message: leading.system === undefined ? 0 : 1,
  };
}

/** Yields the status of entries that are never shown: blank ones, and results without a waiting call. */
function* explainDropped({ engine }: RenderPass): Iterable<[number, EntryExplanation]> {
  const { blocks, dropped } = engine.history;
  const answered = blocks.flatMap(({ calls }) => calls.filter(({ result }) => result !== undefined));
  const byId = Map.groupBy(answered, ({ call }) => call.id);
  const byName = Map.groupBy(answered, ({ call }) => call.name);
  for (const { seq, rule, result } of dropped) {
    const { toolCallId, name = "" } = result ?? {};
    const known = (toolCallId === undefined ? byName.get(name) : byId.get(toolCallId)) ?? [];
    const isSecond = result !== undefined && known.some((call) => wasAnsweredBefore(call, result));
    yield [seq, { status: "dropped", rule: isSecond ? "second_result" : rule, tokens: 0 }];
  }
}

function wasAnsweredBefore({ by, result: first }: Call, { callId, seq }: ResultItem): boolean {
  const isOfCall = by.callId === undefined || callId === undefined || by.callId === callId;
  return isOfCall && first !== undefined && first.seq < seq;
}

/** The status of an entry, without its seq and kind. */
type EntryExplanation = Omit<ExplainedEntry, "seq" | "kind">;

function notProjectable(rule: EntryRule): EntryExplanation {
  return { status: "not_projectable", rule, tokens: 0 };
}
