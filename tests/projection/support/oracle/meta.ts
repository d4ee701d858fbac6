import { ContextPolicy } from "heddle";
import { PROJECTOR } from "heddle/core";
import type { ProjectionInput } from "../../../../src/projection/input/input.ts";
import type { Projection, ProjectionMeta } from "../../../../src/projection/projection.ts";
import { type Block, type Call, firstOf, openersOf, openOf, type Structure } from "./blocks.ts";
import type { Coverage, Reader } from "./coverage.ts";
import type { Folded, Place } from "./fold.ts";
import { reachOf, sum } from "./log.ts";
import { bytesOfContent, isNoted, positionOf, resultsOf, shownResult } from "./results.ts";
import { firstLink, type Line } from "./thinking.ts";
import type { Window } from "./window.ts";

export interface Facts {
  readonly input: ProjectionInput;
  readonly policy: ContextPolicy;
  readonly lane: string;
  readonly pendingCount: number;
  readonly folded: Folded;
  readonly coverage: Coverage;
  readonly dropped: Structure["dropped"];
  readonly window: Window;
  readonly lines: readonly Line[];
  readonly read: Reader;
  readonly toolTokens: number;
}

export function metaOf(facts: Facts): ProjectionMeta {
  const { input, policy, lane, pendingCount, coverage, window, lines, toolTokens } = facts;
  const { thread, previous, tools = [], rules = PROJECTOR } = input;
  const { setting, start, first, floor } = window;
  const startPlace = setting.blocks[start] && firstOf(setting.blocks[start]).place;
  const truncated = start > first;
  const system = tokensOf(lines, "system");
  const summary = tokensOf(lines, "summary");
  const summaryUsed = lines.some(({ provenance }) => provenance.segment === "summary");
  const pending = tokensOf(lines, "pending");
  const history = tokensOf(lines, "history");
  const { maxInputTokens, reserveOutputTokens } = policy;
  const room = maxInputTokens - reserveOutputTokens - system - toolTokens - summary;
  const spoken = lines.some(({ provenance }) => isOfLane(provenance) && provenance.rule !== "stand_in");
  const open = spoken && lines.at(-1)?.message.role !== "assistant";
  const boundary = boundaryOf(facts, open);
  const reason = reasonOf(facts, truncated, boundary);
  const cleared = seqsWith(lines, "cleared");
  const thinkingStale = ascending(lines.flatMap(({ stale }) => stale));
  const thinkingDropped = ascending(lines.flatMap(({ forgotten }) => forgotten));
  return {
    basisRev: thread.rev,
    basisLastSeq: thread.lastSeq,
    pendingCount,
    lane,
    truncated,
    ...(truncated && startPlace && { cutSeq: startPlace.seq }),
    estimatedTokens: toolTokens + sum(lines.map(({ provenance }) => provenance.tokens)),
    summaryUsed,
    entriesIncluded: new Set(lines.flatMap(({ provenance }) => provenance.seqs)).size,
    messagesIncluded: lines.length,
    entriesTotal: thread.rev,
    open,
    needsSummary: reason !== undefined,
    ...(reason !== undefined && { needsSummaryReason: reason }),
    ...(reason !== undefined && boundary !== undefined && { boundary }),
    budget: {
      maxInputTokens,
      reserveOutputTokens,
      system,
      tools: toolTokens,
      summary,
      pending,
      available: room - pending,
      history,
    },
    floorViolated: truncated && start > floor,
    repaired: {
      calls: ascending(unanswered(setting.blocks.slice(start))),
      standIns: lines.filter(({ provenance }) => provenance.rule === "stand_in").length,
    },
    dropped: droppedIn(facts),
    cleared,
    thinkingDropped,
    policyHash: ContextPolicy.hashOf(policy),
    projector: rules,
    fingerprint: lines.at(-1)?.link ?? firstLink(tools),
    ...(previous !== undefined && { stablePrefix: samePrefix(lines, previous) }),
    view: {
      ...(startPlace && { startSeq: startPlace.seq }),
      ...(startPlace?.item !== undefined && { startItem: startPlace.item }),
      headSeqs: [],
      ...(summaryUsed && coverage.shown && { summarySeq: coverage.shown.seq }),
      cleared,
      thinkingDropped,
      ...(thinkingStale.length > 0 && { thinkingStale }),
      ...(setting.shrunk.size + setting.noted.size > 0 && { shrunk: shrunkOf(window) }),
    },
  };
}

function isOfLane({ segment }: Projection["provenance"][number]): boolean {
  return segment === "history" || segment === "pending";
}

function tokensOf(lines: readonly Line[], segment: string): number {
  return sum(lines.flatMap(({ provenance }) => (provenance.segment === segment ? [provenance.tokens] : [])));
}

function seqsWith(lines: readonly Line[], rule: string): number[] {
  return ascending(lines.flatMap(({ provenance, draft }) => (provenance.rule === rule ? draft.places : [])));
}

/** The entries of the thread that some places are of, each once. */
function ascending(places: readonly Place[]): number[] {
  const seqs = places.filter(({ pending }) => !pending).map(({ seq }) => seq);
  return [...new Set(seqs)].sort((a, b) => a - b);
}

function unanswered(blocks: readonly Block[]): Place[] {
  return blocks.flatMap(({ calls }) => calls.flatMap(({ result, by }) => (result === undefined ? [by.place] : [])));
}

/** Whether it is an entry of the thread, not a message of a replaced context. */
function isEntry({ item, pending }: Place): boolean {
  return item === undefined && !pending;
}

/** Entries of the window that say nothing a model may see. */
function droppedIn({ folded, dropped, window, read }: Facts): number[] {
  const { setting, start } = window;
  const from = setting.blocks[start] ? openOf(setting.blocks[start]) : setting.edge + 1;
  const blank = folded.places.filter((place) => read(place)?.what.type === "blank");
  const loose = dropped.map(({ item }) => item.place);
  const cut = setting.blocks.slice(0, start);
  const late = cut.flatMap((block) => [...block.members, ...resultsOf(block)].map(({ place }) => place));
  return ascending([...blank, ...loose, ...late].filter((place) => isEntry(place) && place.seq >= from));
}

/** Before the turns that stay; where there is nothing to cover, and one of them is cut, before what is shown. */
function boundaryOf(facts: Facts, open: boolean): number | undefined {
  const { window, policy } = facts;
  const { blocks } = window.setting;
  const openers = openersOf(blocks);
  const last = policy.keepLastTurns > 0 ? openers.at(-policy.keepLastTurns) : open ? openers.at(-1) : blocks.length;
  const atTurns = last === undefined ? undefined : lastBefore(facts, blocks[last]);
  const start = blocks[window.start];
  const atStart = window.start > window.first && start !== undefined ? lastBefore(facts, start) : undefined;
  const { shown } = facts.coverage;
  return atTurns ?? atStart ?? (isHidden(facts) && shown !== undefined ? reachOf(shown) : undefined);
}

/** Whether there is a summary that does not fit, and nothing counts as covered. */
function isHidden({ coverage, window }: Facts): boolean {
  return coverage.shown !== undefined && !window.setting.hasSummary;
}

function lastBefore({ folded, coverage }: Facts, block: Block | undefined): number | undefined {
  const own = folded.places.filter(isEntry);
  const seq = own.filter((place) => block === undefined || place.seq < openOf(block)).at(-1)?.seq;
  return seq !== undefined && seq > coverage.edge ? seq : undefined;
}

function reasonOf(facts: Facts, cut: boolean, boundary?: number) {
  const { input, policy, pendingCount, coverage, folded, window } = facts;
  const { summarization, summarizeThreshold, maxThreadTokens } = policy;
  if (cut && summarization !== "none") return isHidden(facts) ? "summary_too_long" : "truncated";
  if (summarization === "request_new" && boundary !== undefined) return "requested";
  const since = input.thread.lastSeq + pendingCount - (coverage.shown?.seq ?? -1);
  if (summarizeThreshold > 0 && since > summarizeThreshold) return "entries";
  const first = window.setting.blocks[window.first];
  const live = first === undefined ? 0 : folded.measure - positionOf(first);
  return maxThreadTokens > 0 && live > maxThreadTokens ? "tokens" : undefined;
}

function samePrefix(lines: readonly Line[], { messages }: Pick<Projection, "messages">): number {
  const differs = lines.findIndex(({ message }, index) => JSON.stringify(message) !== JSON.stringify(messages[index]));
  return differs < 0 ? lines.length : differs;
}

function shrunkOf({ setting }: Window): { seq: number; bytes: number }[] {
  const seqOf = (call: Call) => call.result?.place.seq ?? -1;
  const { shrunk, noted, blocks } = setting;
  const changed = blocks.flatMap(({ calls }) => calls.filter((call) => isNoted(call, noted) || shrunk.has(call)));
  const whole = (call: Call) => bytesOfContent(shownResult(call, { ...setting, shrunk: new Map() }, false).content);
  return changed
    .toSorted((a, b) => whole(b) - whole(a))
    .map((call) => ({ seq: seqOf(call), bytes: shrunk.get(call) ?? whole(call) }));
}
