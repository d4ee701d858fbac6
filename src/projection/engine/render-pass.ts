import { measureOfEntry } from "../../lanes/measure.ts";
import type { Entry } from "../../thread/entry.ts";
import type { Part, ToolMessage } from "../../thread/message.ts";
import type { Thread } from "../../thread/thread.ts";
import { fileTokens, messageFiles } from "../../tokens/counter.ts";
import { firstIndex } from "../binary-search.ts";
import { type BudgetParts, ProjectionError, tailTooShort } from "../error.ts";
import { isAssistant } from "../history/block.ts";
import type { Settings } from "../input/input.ts";
import { pendingItems } from "../input/input.ts";
import type { ContextPolicy } from "../policy/policy.ts";
import type { LeadingMessages } from "../render/leading-messages.ts";
import type { Shrinking } from "../render/render-block.ts";
import { contentBytes, shortenContent, withoutFiles } from "../render/shorten.ts";
import { rulesOf } from "../rules.ts";
import { type ContextWindow, clearedBefore, decideWindow } from "../window/window.ts";
import { type Assembly, assemble } from "./assembly.ts";
import type { Engine } from "./engine.ts";
import type { FingerprintChain } from "./fingerprint.ts";

/** The result of one projection. `project` and `explain` build their results from it. */
export interface RenderPass {
  readonly engine: Engine;
  readonly settings: Settings;
  readonly thread: Thread;
  readonly pending: readonly Entry[];
  readonly leading: LeadingMessages;
  /** Tokens available for history and pending messages together. */
  readonly freeTokens: number;
  readonly window: ContextWindow;
  readonly assembly: Assembly;
  readonly shrunk: ShrinkPlan | undefined;
  /** The size of the lane in tokens (see `measureOfEntry`), pending items included. */
  readonly measure: number;
}

/** The input of a render pass. */
export interface RenderPassInput extends Pick<RenderPass, "engine" | "settings" | "thread" | "pending"> {
  readonly before: FingerprintChain | undefined;
  /** Whether content that does not fit throws an error. `explain` sets false, so that it can show the cause. */
  readonly mustFit: boolean;
}

/** Decides the context window and renders it. `read` runs while pending items are still in the history. */
export function runRenderPass<T>(
  { engine, settings, thread, pending, before, mustFit }: RenderPassInput,
  read: (pass: RenderPass) => T,
): T {
  return engine.withPending(pendingItems(pending, engine.log), () => {
    const { history, costs, log } = engine;
    const { policy, toolTokens } = settings;
    history.hideSummary(false);
    const measure = pending.reduce((sum, entry) => sum + measureOfEntry(entry), log.measure);
    costs.clearBefore(clearedBefore(history, policy, measure));
    const all = engine.leadingMessages(log.systemPrompt ?? settings.systemPrompt);
    const rules = rulesOf(settings.rules);
    const { makesSpace } = rules;
    const beside = (leading: LeadingMessages): Fitting => {
      const fixed = { system: leading.system?.tokens ?? 0, tools: toolTokens, summary: leading.summary?.tokens ?? 0 };
      const freeTokens =
        policy.maxInputTokens - policy.reserveOutputTokens - fixed.system - fixed.tools - fixed.summary;
      const tail = { thread, engine, policy, freeTokens };
      if (!log.complete && history.turns.openers.length === 0) throw lacksTurns(tail);
      const window = decideWindow(history, costs, policy, { ...rules, freeTokens, measure });
      checkTail(tail, window);
      const shrunk =
        window.fits || policy.overflow === "error" ? undefined : shrink(engine, window.newest, freeTokens, makesSpace);
      return { leading, fixed, freeTokens, window, shrunk };
    };
    const whole = beside(all);
    // All that is new comes before the summary. Without it, its entries are history again.
    const without = (isHidden: boolean): Fitting => {
      history.hideSummary(isHidden);
      return beside({ ...all, summary: undefined });
    };
    const isBare = makesSpace && !isShown(whole) && all.summary !== undefined;
    const hidden = isBare ? without(true) : whole;
    const bare = isBare && !isShown(hidden) ? without(false) : hidden;
    const shown = isShown(bare) ? bare : whole;
    const { window, shrunk, leading, freeTokens } = shown;
    if (!isShown(shown) && mustFit)
      throw overflowError(engine, settings, shown.fixed, { newest: window.newest, freeTokens, rev: thread.rev });
    const assembly = assemble(engine, settings, leading, { ...window, shrunk }, before);
    return read({ engine, settings, thread, pending, leading, freeTokens, window, assembly, shrunk, measure });
  });
}

/** A window beside the messages before the history. */
interface Fitting extends Pick<RenderPass, "leading" | "freeTokens" | "window" | "shrunk"> {
  readonly fixed: BudgetParts & { readonly summary: number };
}

function isShown({ window, shrunk }: Fitting): boolean {
  return window.fits || shrunk !== undefined;
}

/** How the results of the newest block are shortened. */
interface ShrinkPlan extends Shrinking {
  readonly results: readonly { readonly seq: number; readonly bytes: number }[];
}

/**
 * Shortens the results of the newest block until it fits. Replaces their files with notes only where shorter texts are not
 * enough: the largest first, of equal ones the oldest, and no more than needed. Undefined if it cannot fit.
 */
function shrink(engine: Engine, newest: number, freeTokens: number, notesFiles: boolean): ShrinkPlan | undefined {
  const { history, costs, renderOptions } = engine;
  const block = history.blocks[newest];
  if (block?.type !== "exchange" || block.open <= history.coverage.edge) return undefined;
  const { messages, tokens } = costs.renderedBlock(newest, costs.variantFrom(newest, newest));
  const files = notesFiles ? messages.slice(1).flatMap(messageFiles) : [];
  const cost = (file: Part): number => renderOptions.tokensOf({ role: "user", content: [file] });
  files.sort((a, b) => cost(b) - cost(a));
  const limit = freeTokens + tokens - costs.tokensFrom(newest);
  for (let count = 0; count <= files.length; count++) {
    const plan = shrinkTexts(engine, newest, limit, new Set(files.slice(0, count)));
    if (plan !== undefined) return plan;
  }
  return undefined;
}

/**
 * Shortens the results of a block beside these notes until it fits: the largest first, and no more than needed. A result
 * stays unchanged if the marker would make it longer.
 */
function shrinkTexts(engine: Engine, at: number, limit: number, noted: ReadonlySet<Part>): ShrinkPlan | undefined {
  const { costs, history, renderOptions } = engine;
  const { bytesPerEnd, tokensOf } = renderOptions;
  const perEnd = new Map<number, number>();
  const variant = { ...costs.variantFrom(at, at), shrunk: { perEnd, noted } };
  const { messages, provenance, tokens } = costs.renderedBlock(at, variant);
  const sized = (history.blocks[at]?.calls ?? [])
    .flatMap(({ result }, slot) => {
      const message = messages[slot + 1];
      if (message?.role !== "tool" || result === undefined) return [];
      return [{ slot, result, message, bytes: contentBytes(message.content) }];
    })
    .sort((a, b) => b.bytes - a.bytes);
  let excess = tokens - limit;
  for (const { slot, result, message, bytes } of sized) {
    if (excess <= 0) break;
    const cut = (end: number): ToolMessage => {
      const short = shortenContent(result.content, result.seq, Math.min(end, bytesPerEnd || end));
      return { ...message, content: withoutFiles(short, noted) };
    };
    const saved = (end: number): number => tokensOf(message) - tokensOf(cut(end));
    if (contentBytes(cut(0).content) >= bytes) continue;
    const end = saved(0) < excess ? 0 : largestEndWhere((end) => saved(end) >= excess, bytes);
    perEnd.set(slot, end);
    excess -= saved(end);
  }
  if (excess > 0) return undefined;
  const results = sized.flatMap(({ slot, result: { seq }, bytes }) => {
    const end = perEnd.get(slot);
    const isChanged = end !== undefined || provenance[slot + 1]?.rule === "shrunk";
    return isChanged ? [{ seq, bytes: end === undefined ? bytes : 2 * end }] : [];
  });
  return { perEnd, noted, results };
}

/**
 * Returns the largest number up to `limit` for which `holds` is true. 0 must hold. Small numbers are tried first,
 * because they are the likely result.
 */
function largestEndWhere(holds: (end: number) => boolean, limit: number): number {
  let far = 1;
  while (far < limit && holds(far)) far *= 2;
  return firstIndex(Math.floor(far / 2), Math.min(far, limit), (end) => !holds(end)) - 1;
}

/** Makes an error that names the part that does not fit, its largest component, and what to do. */
function overflowError(
  engine: Engine,
  settings: Settings,
  fixed: BudgetParts,
  { newest, freeTokens, rev }: { readonly newest: number; readonly freeTokens: number; readonly rev: number },
): ProjectionError {
  const { blocks } = engine.history;
  const { policy, tools } = settings;
  const isPending = freeTokens >= 0 && (blocks.at(-1)?.seq ?? -1) >= rev;
  const own = engine.costs.tokensFrom(newest);
  const parts = { ...fixed, [isPending ? "pending" : "newest"]: own };
  const spent = Object.values(fixed).reduce((sum, tokens) => sum + tokens, 0);
  // If system prompt, tools and summary alone exceed the budget, the numbers include them.
  const [needed, available] = freeTokens < 0 ? [spent + own, spent + freeTokens] : [own, freeTokens];
  const what = isPending
    ? "The pending items"
    : freeTokens < 0
      ? "The system prompt, the tools and the summary"
      : "The newest exchange with its user message";
  const [largest, tokens] = Object.entries(parts).reduce((most, part) => (part[1] > most[1] ? part : most));
  const specs = largest === "tools" ? ` in ${tools.length} specs` : "";
  const canShrink =
    policy.overflow === "error" && freeTokens >= 0 && blocks[newest]?.calls.some(({ result }) => result !== undefined);
  const asked = [...engine.costs.headOf(newest).map((index) => blocks[index]), ...blocks.slice(newest)];
  const files = asked
    .flatMap((block) => (block?.type === "user" ? messageFiles(block.item) : []))
    .reduce((sum, file) => sum + fileTokens(file), 0);
  const ofFiles =
    2 * files > needed
      ? ` Files count ${withCommas(files)}, whatever their bytes; fewer with \`pages\` in metadata.heddle of a PDF.`
      : "";
  const message =
    `${what} cannot be shown: ${withCommas(needed)} tokens needed, ${withCommas(available)} available. ` +
    `The largest part is ${largest}: ${withCommas(tokens)} tokens${specs}. ` +
    `Raise maxInputTokens or shorten that part${canShrink ? ', or set overflow: "shrink" to shorten results' : ""}.${ofFiles}`;
  const code = isPending ? "pending_overflow" : "budget_overflow";
  return new ProjectionError({ code, message, needed, available, parts });
}

function withCommas(tokens: number): string {
  return String(tokens).replace(/\B(?=(\d{3})+$)/g, ",");
}

/**
 * Returns the first block that is the same whatever entries are before the loaded ones. It starts a turn. Earlier
 * blocks may be parts of one that began before the loaded entries.
 */
export function firstCertain({ history, log }: Engine): number {
  const { blocks, turns } = history;
  if (log.complete) return 0;
  const partial = blocks.findIndex(isAssistant);
  const firstUser = blocks.findIndex(({ type }) => type === "user");
  const isCertain = (opener: number): boolean => {
    const block = blocks[opener];
    // The first user message may belong to a request that began before the loaded entries.
    return (
      partial >= 0 &&
      opener > partial + 1 &&
      (opener > firstUser || (block?.type === "user" && block.item.requestId === undefined))
    );
  };
  return turns.openers.find(isCertain) ?? blocks.length;
}

interface Tail extends Pick<RenderPass, "thread" | "engine" | "freeTokens"> {
  readonly policy: ContextPolicy;
}

/** Throws `tail_too_short` if entries that are not loaded could change the context window. */
function checkTail(tail: Tail, { first, earliestRead }: ContextWindow): void {
  const { engine, policy } = tail;
  if (engine.log.complete) return;
  const certain = firstCertain(engine);
  const { blocks, coverage, dropped } = engine.history;
  const edgeIsVague = first > 0 && first < certain;
  // A result without a call may belong to a block that the summary covers only in part.
  const written = coverage.summary?.seq ?? -1;
  const straddles = dropped.some(({ seq, rule }) => rule !== "blank" && seq > coverage.edge && seq < written);
  const isCertain = earliestRead >= certain && earliestRead < blocks.length && !edgeIsVague && !straddles;
  if (isCertain && !engine.log.lacksOrigin) return;
  const loaded = blocks.length === 0 ? 0 : engine.costs.tokensFrom(0);
  throw shortOf(tail, loaded, straddles ? undefined : missingTurnsOf(engine, policy, first > 0 ? first : earliestRead));
}

/**
 * The error for a tail in which no turn starts. Such a tail is always too short. Its tokens are estimated from the newest
 * blocks, because rendering all of them takes most of the time of a projection.
 */
function lacksTurns(tail: Tail): ProjectionError {
  const { history, costs, log } = tail.engine;
  const { blocks } = history;
  const newest = Math.max(0, blocks.length - SAMPLED_BLOCKS);
  const measureFrom = (index: number): number => log.measure - (blocks[index]?.position ?? log.measure);
  const sampled = measureFrom(newest);
  const loaded = sampled <= 0 ? 0 : (costs.tokensFrom(newest) * measureFrom(0)) / sampled;
  return shortOf(tail, loaded, missingTurnsOf(tail.engine, tail.policy, 0));
}

const SAMPLED_BLOCKS = 32;

/** The error for a tail with `loaded` tokens. */
function shortOf({ thread, freeTokens }: Tail, loaded: number, missingTurns: number | undefined): ProjectionError {
  if (loaded === 0) return tailTooShort(thread); // no tokens to estimate from
  const isWindowCut = loaded < freeTokens;
  const times = isWindowCut ? (WINDOW_MARGIN * freeTokens) / loaded : 1.5;
  return tailTooShort(thread, { times, isWindowCut, missingTurns });
}

/** Earlier entries may be a little shorter than the loaded ones. */
const WINDOW_MARGIN = 1.1;

/** How many turns before the loaded entries are needed to be certain of the turn of a block and of those that are kept. */
export function missingTurnsOf({ history: { turns } }: Engine, policy: ContextPolicy, block: number): number {
  const { openers } = turns;
  const before = openers.filter((opener) => opener <= block).length;
  // The first loaded turn may have begun earlier, so one more is needed.
  return Math.max(0, 2 - before, turnsRead(policy) + 1 - openers.length);
}

/** How many of the newest turns a policy looks at, whatever the budget. */
export function turnsRead({ maxTurns, keepLastTurns, summarization, toolResults }: ContextPolicy): number {
  const isKept = summarization !== "none" || toolResults.keepLast > 0;
  return Math.max(1, maxTurns, isKept ? keepLastTurns : 0);
}
