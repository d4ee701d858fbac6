import type { Part, TokenCounter } from "heddle";
import { countMessage } from "heddle/core";
import { ProjectionError } from "../../../../src/projection/error.ts";
import { type Block, type Call, firstOf, isExchange, openersOf, openOf } from "./blocks.ts";
import { compose, type Setting } from "./compose.ts";
import { sum } from "./log.ts";
import { bytesOfContent, filesOf, positionOf, shownResult, unitOf } from "./results.ts";

export interface Window {
  /** The first block that is not covered by a summary. */
  readonly first: number;
  readonly start: number;
  readonly floor: number;
  readonly setting: Setting;
}

export interface Purse {
  readonly room: number;
  /** Of the lane. */
  readonly measure: number;
  readonly counter: TokenCounter;
}

/** When what is new does not fit beside what was steered in before, only the ask is shown beside it. */
export function windowOf(setting: Setting, purse: Purse): Window {
  const newest = Math.max(firstUncovered(setting), newestStart(setting.blocks, openersOf(setting.blocks)));
  const fits = cost(newest, setting, purse) <= purse.room;
  return windowWith(fits ? setting : { ...setting, headMost: 0 }, purse);
}

function firstUncovered({ blocks, edge }: Setting): number {
  const open = blocks.findIndex((block) => openOf(block) > edge);
  return open < 0 ? blocks.length : open;
}

function windowWith(setting: Setting, purse: Purse): Window {
  const { blocks, policy } = setting;
  const { maxMessages, maxTurns, keepLastTurns, window } = policy;
  const first = firstUncovered(setting);
  const openers = openersOf(blocks);
  const newest = Math.max(first, newestStart(blocks, openers));
  const floor = Math.max(first, keepLastTurns === 0 ? blocks.length : (openers.at(-keepLastTurns) ?? first));
  if (purse.room < 0) throw overflow("budget_overflow", 0, purse.room);
  const starts = range(first, newest);
  if (first >= blocks.length) {
    const needed = cost(first, setting, purse);
    if (needed > purse.room) throw overflow("budget_overflow", needed, purse.room);
    return { first, start: first, floor, setting };
  }
  const fitting = starts.filter((start) => cost(start, setting, purse) <= purse.room);
  const [budget] = fitting;
  if (budget === undefined || !fitting.includes(newest))
    return { first, start: newest, floor, setting: squeezed(setting, purse, newest) };

  const turnsShown = (start: number) =>
    openers.filter((opener) => opener >= start).length +
    (openers.includes(start) || !openers.some((opener) => opener < start) ? 0 : 1);
  const isUnderCeilings = (start: number) =>
    (maxMessages === 0 || start === newest || compose(start, setting).length <= maxMessages) &&
    (maxTurns === 0 || turnsShown(start) <= maxTurns);
  const ceiling = starts.find(isUnderCeilings) ?? newest;
  const wanted = Math.min(ceiling, floor);
  const lower = fitting.find((start) => start >= wanted) ?? fitting.at(-1) ?? budget;
  const most = compose(lower, setting).length;
  const halfway = starts.findLast((start) => start >= lower && 2 * compose(start, setting).length >= most) ?? lower;
  const left = (start: number) => purse.measure - positionOf(blocks[start]);
  // A step above a half is made as a whole, up to seven eighths; otherwise a quarter stays.
  const { step } = window;
  const wide = unitOf({ ...policy, window: { ...window, step: Math.min(step, 0.875) } });
  const least = step > 0.5 ? Math.min(left(lower) / 4, left(lower) - wide) : left(lower) / 4;
  const quarter = starts.findLast((start) => start >= lower && left(start) >= least) ?? lower;
  const limit = Math.min(newest, budget > wanted ? quarter : Math.min(Math.max(lower, floor), halfway));
  if (window.mode === "sliding" || lower === first) return { first, start: lower, floor, setting };
  for (let unit = wide; unit >= 1; unit = Math.floor(unit / 2)) {
    const start = fitting.find((start) => start >= lower && start <= limit && isOnGrid(start, unit, setting));
    if (start !== undefined) return { first, start, floor, setting };
  }
  return { first, start: lower, floor, setting };
}

/** What the model has not seen yet is shown: the results of the running request too, and all messages of the last turn. */
function newestStart(blocks: readonly Block[], openers: readonly number[]): number {
  const newest = blocks.length - 1;
  const last = blocks.findLastIndex(({ type }) => type === "assistant");
  const opener = openers.at(-1);
  const block = blocks[last];
  return block !== undefined && isExchange(block) && opener !== undefined && opener <= last
    ? last
    : Math.min(newest, Math.max(opener ?? newest, last + 1));
}

function isOnGrid(start: number, unit: number, { blocks }: Setting): boolean {
  const line = (index: number) => Math.floor(positionOf(blocks[index]) / unit);
  return start === 0 || line(start) > line(start - 1);
}

function cost(start: number, setting: Setting, { counter }: Purse): number {
  return sum(compose(start, setting).map(({ message }) => countMessage(message, counter, setting.model)));
}

/** The newest block made to fit by shortening its results, the largest first, each by as little as needed. */
function squeezed(setting: Setting, purse: Purse, newest: number): Setting {
  const block = setting.blocks[newest];
  const last = setting.blocks.at(-1);
  const isPending = last !== undefined && firstOf(last).place.pending;
  const code = isPending ? "pending_overflow" : "budget_overflow";
  if (setting.policy.overflow === "error" || block === undefined) {
    throw overflow(code, cost(newest, setting, purse), purse.room);
  }
  const { counter } = purse;
  const price = (file: Part) => countMessage({ role: "user", content: [file] }, counter, setting.model);
  const files = block.calls.flatMap(filesOf).toSorted((a, b) => price(b) - price(a));
  for (const count of range(0, files.length)) {
    const shown = { ...setting, noted: new Set(files.slice(0, count)) };
    const fitting = cost(newest, shown, purse) <= purse.room ? shown : withShorterTexts(shown, purse, newest, block);
    if (fitting !== undefined) return fitting;
  }
  throw overflow(code, cost(newest, setting, purse), purse.room);
}

function withShorterTexts(setting: Setting, purse: Purse, newest: number, block: Block): Setting | undefined {
  const { noted } = setting;
  const bytesWith = (call: Call, shrunk: Setting["shrunk"]) =>
    bytesOfContent(shownResult(call, { ...setting, shrunk }, false).content);
  const size = (call: Call) => bytesWith(call, new Map());
  const calls = block.calls.filter(({ result }) => result !== undefined).toSorted((a, b) => size(b) - size(a));
  let shrunk: Setting["shrunk"] = new Map();
  for (const call of calls) {
    const before = shrunk;
    const isShorter = (limit: number) => bytesWith(call, new Map([[call, limit]])) < size(call);
    const { maxTokens } = setting.policy.toolResults;
    const most = Math.min(size(call), maxTokens > 0 ? 4 * maxTokens : Number.POSITIVE_INFINITY) - 1;
    for (const limit of range(0, most).toReversed()) {
      if (limit % 2 === 1 || !isShorter(limit)) continue;
      shrunk = new Map([...before, [call, limit]]);
      if (cost(newest, { ...setting, shrunk, noted }, purse) <= purse.room) return { ...setting, shrunk };
    }
  }
  return undefined;
}

function overflow(code: string, needed: number, available: number): ProjectionError {
  return new ProjectionError({ code, message: "too long", needed, available });
}

function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index);
}
