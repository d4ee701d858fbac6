import { createLaneLog } from "../../lanes/fold-lane.ts";
import type { LaneItem, LaneLog } from "../../lanes/lane-log.ts";
import type { Entry } from "../../thread/entry.ts";
import { replaceBase } from "../../thread/lane-operations.ts";
import type { ThinkingPart } from "../../thread/message.ts";
import { canReadProviderCall, type ProviderExecutedPart } from "../../thread/message.ts";
import type { Thread } from "../../thread/thread.ts";
import { tailTooShort } from "../error.ts";
import { History } from "../history/history.ts";
import type { Settings } from "../input/input.ts";
import { invalid } from "../input/input.ts";
import type { ContextPolicy } from "../policy/policy.ts";
import { type LeadingMessages, LeadingMessagesCache } from "../render/leading-messages.ts";
import type { RenderOptions } from "../render/render-block.ts";
import { rulesOf } from "../rules.ts";
import { type ReaderRegistry, readerRegistry } from "../transcript/entry-reader.ts";
import { type Item, readItem } from "../transcript/item.ts";
import { modelName } from "../transcript/payload.ts";
import { WindowCosts } from "../window/window-costs.ts";

interface EngineParts {
  readonly history: History;
  readonly costs: WindowCosts;
}

/** The projection state of one lane. When the thread grows, only new entries are read. */
export class Engine {
  readonly lane: string;
  readonly log: LaneLog;
  readonly showsSummaries: boolean;
  readonly #settings: Settings;
  readonly #registry: ReaderRegistry;
  readonly renderOptions: RenderOptions;
  readonly #leadingCache: LeadingMessagesCache;
  #thread: Thread;
  /** The seq of the first entry that this engine has not read. */
  #nextSeq: number;
  #generation = 0;
  #parts: EngineParts;
  /** How many items of the lane's log were added to the history. */
  #taken = 0;
  #rev = 0;
  #isBroken = false;

  constructor(thread: Thread, lane: string, settings: Settings) {
    const { policy, readers } = settings;
    this.lane = lane;
    this.#settings = settings;
    this.#registry = readerRegistry(policy.includeKinds, readers, rulesOf(settings.rules));
    this.showsSummaries = policy.summarization !== "none" && policy.includeKinds.includes("summary");
    this.renderOptions = this.#renderOptions();
    this.#leadingCache = new LeadingMessagesCache(settings.tokensOf);
    this.#thread = thread;
    this.#nextSeq = thread.firstSeq;
    this.log = createLaneLog(thread, lane, { rules: rulesOf(settings.rules), latest: () => this.#thread });
    this.#parts = this.#begin();
    this.#read(thread);
  }

  /** The blocks of the lane. */
  get history(): History {
    return this.#parts.history;
  }

  /** The token and message counts of context windows over the blocks. */
  get costs(): WindowCosts {
    return this.#parts.costs;
  }

  /** Whether reading a thread threw an error. The state is then incomplete and must not be used. */
  get isBroken(): boolean {
    return this.#isBroken;
  }

  /** Reads the new entries of a longer version of the same thread. Returns false for any other thread. */
  extendTo(thread: Thread): boolean {
    if (this.#isBroken) return false;
    if (thread === this.#thread) return true;
    if (!isContinuation(this.#thread, thread)) return false;
    this.#read(thread);
    return true;
  }

  /** Whether `thread` is the same thread, loaded from a different first entry. This engine is then obsolete. */
  isReplacedBy({ id, firstSeq }: Thread): boolean {
    return this.#thread.id === id && this.#thread.firstSeq !== firstSeq;
  }

  /** Returns the messages before the history: system prompt and summary. */
  leadingMessages(systemPrompt: string | undefined): LeadingMessages {
    return this.#leadingCache.make(systemPrompt, this.history.summaries.summary, this.#settings.policy.summaryRole);
  }

  /** Adds the pending items to the history, runs `look`, and removes them. */
  withPending<T>(pending: readonly LaneItem[], look: () => T): T {
    if (pending.length === 0) return look();
    return this.history.undoLog.tentatively(() => {
      let before = this.log.items.at(-1);
      for (const [index, item] of pending.entries()) {
        this.#takePending(item, before, `pending[${index}]`);
        before = item;
      }
      return look();
    });
  }

  #read(thread: Thread): void {
    const { log } = this;
    this.#isBroken = true; // set to false after everything is read, so an error leaves it true
    this.#thread = thread;
    for (const entry of thread.slice(this.#nextSeq, thread.lastSeq)) log.push(entry);
    this.#nextSeq = thread.lastSeq + 1;
    this.#rev = thread.rev;
    if (log.generation !== this.#generation) this.#parts = this.#begin();
    for (; this.#taken < log.items.length; this.#taken++) {
      const item = log.items[this.#taken];
      if (item !== undefined) this.#take(item, log.items[this.#taken - 1]);
    }
    this.#isBroken = false;
  }

  /** Adds a pending item. Throws if nothing of it would be shown, because the caller wants it shown. */
  #takePending(place: LaneItem, before: LaneItem | undefined, path: string): void {
    const { dropped } = this.history;
    const droppedBefore = dropped.length;
    const item = this.#take(place, before, `The input's ${path}`);
    const { kind } = place.entry;
    if (item === undefined && !this.#registry.has(kind)) {
      throw invalid(path, `is of kind "${kind}", which policy.includeKinds does not name`);
    }
    if (item === undefined) throw invalid(path, `would show nothing: the reader of kind "${kind}" returned undefined`);
    if (item.type === "blank") throw invalid(path, "would show nothing: it is blank");
    if (dropped.length === droppedBefore) return;
    if (!this.log.complete) throw tailTooShort(this.#thread); // the call of this result may be in an entry that is not loaded
    throw invalid(path, "would show nothing: no call waits for this result");
  }

  #begin(): EngineParts {
    this.#generation = this.log.generation;
    this.#taken = 0;
    const history: History = new History((from) => costs.changed(from));
    const costs = new WindowCosts(history, this.renderOptions, this.log.complete);
    return { history, costs };
  }

  #take(place: LaneItem, before: LaneItem | undefined, pending?: string): Item | undefined {
    const { history } = this;
    if (place.snapshot === undefined && this.#isBoundary(place.entry)) {
      const { reach, ...plain } = place;
      history.addBoundary(reach === undefined || this.showsSummaries ? place : plain);
      return undefined;
    }
    if (before?.snapshot !== undefined && place.snapshot === undefined) history.addBoundary(place);
    const item = readItem(place, {
      registry: this.#registry,
      rules: rulesOf(this.#settings.rules),
      pending,
    });
    if (item !== undefined) history.add(item);
    return item;
  }

  #isBoundary(entry: Entry): boolean {
    return entry.kind === "summary" || (replaceBase(entry) !== undefined && !this.log.isMalformed(entry));
  }

  #renderOptions(): RenderOptions {
    const { tokensOf, model, policy, rules } = this.#settings;
    return {
      tokensOf,
      bytesPerEnd: 2 * policy.toolResults.maxTokens,
      canKeep: thinkingFilter(policy, model),
      keepsApprovals: rulesOf(rules).keepsApprovals,
      canReadRun: rulesOf(rules).leavesOutForeignRuns ? providerCallFilter(model) : () => true,
      rev: () => this.#rev,
    };
  }
}

/** Whether `after` extends `before`. Versions of one thread share their entry objects, so identity is compared. */
function isContinuation(before: Thread, after: Thread): boolean {
  const { firstSeq, lastSeq } = before;
  if (after.id !== before.id || after.firstSeq !== firstSeq || after.lastSeq < lastSeq) return false;
  if (lastSeq < firstSeq) return after.base === before.base;
  return after.at(lastSeq) === before.at(lastSeq) && after.at(firstSeq) === before.at(firstSeq);
}

/** Returns a test for thinking that the model can read: only thinking by the same model of the same provider. */
function thinkingFilter({ thinking }: ContextPolicy, model: string | undefined): (part: ThinkingPart) => boolean {
  if (thinking !== "auto") return () => thinking === "keep";
  const asked = modelName(model);
  return (part) =>
    asked.model !== undefined &&
    part.model === asked.model &&
    providerName(part.provider) === providerName(asked.provider);
}

/** Returns a test for calls that a provider ran: a model can read only those of its own provider. */
function providerCallFilter(model: string | undefined): (part: ProviderExecutedPart) => boolean {
  const { provider } = modelName(model);
  return (part) => provider !== undefined && canReadProviderCall(part, provider);
}

/** The AI SDK names one provider both "anthropic.messages" and "anthropic". */
function providerName(provider: string | undefined): string | undefined {
  return provider?.split(".")[0];
}
