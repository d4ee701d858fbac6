import { laneLogOf } from "../../lanes/fold-lane.ts";
import type { LaneItem, LaneLog } from "../../lanes/lane-log.ts";
import type { Entry } from "../../thread/entry.ts";
import { replaceBase } from "../../thread/lane-operation.ts";
import type { ThinkingPart } from "../../thread/message.ts";
import { canReadRun, type ProviderRunPart } from "../../thread/provider-executor.ts";
import type { Thread } from "../../thread/thread.ts";
import { History } from "../history/history.ts";
import { invalid } from "../input/check.ts";
import type { Settings } from "../input/settings.ts";
import type { ContextPolicy } from "../policy/fields.ts";
import { type Front, FrontMaker } from "../render/front.ts";
import type { RenderOptions } from "../render/piece.ts";
import { rulesOf } from "../rules.ts";
import { modelName } from "../transcript/fields.ts";
import { type Item, readItem } from "../transcript/item.ts";
import { type Registry, registryOf } from "../transcript/registry.ts";
import { Costs } from "../window/costs.ts";
import { tailTooShort } from "./tail-too-short.ts";

interface Parts {
  readonly history: History;
  readonly costs: Costs;
}

/** The projection state of one lane of one thread. It is extended when the thread grows. */
export class Engine {
  readonly lane: string;
  readonly log: LaneLog;
  readonly showsSummaries: boolean;
  readonly #settings: Settings;
  readonly #registry: Registry;
  readonly renderOptions: RenderOptions;
  readonly #front: FrontMaker;
  #thread: Thread;
  /** The first entry that is not in the log yet. */
  #nextSeq: number;
  #generation = 0;
  #parts: Parts;
  /** The number of log items that are in the history. */
  #taken = 0;
  #rev = 0;
  #isBroken = false;

  constructor(thread: Thread, lane: string, settings: Settings) {
    const { policy, readers } = settings;
    this.lane = lane;
    this.#settings = settings;
    this.#registry = registryOf(policy.includeKinds, readers, rulesOf(settings.rules));
    this.showsSummaries = policy.summarization !== "none" && policy.includeKinds.includes("summary");
    this.renderOptions = this.#renderOptions();
    this.#front = new FrontMaker(settings.tokensOf);
    this.#thread = thread;
    this.#nextSeq = thread.firstSeq;
    this.log = laneLogOf(thread, lane, { rules: rulesOf(settings.rules), latest: () => this.#thread });
    this.#parts = this.#begin();
    this.#read(thread);
  }

  /** The blocks of the lane. */
  get history(): History {
    return this.#parts.history;
  }

  /** The costs of windows over the blocks. */
  get costs(): Costs {
    return this.#parts.costs;
  }

  /** True if reading a thread threw. The state is then incomplete and must not be used. */
  get isBroken(): boolean {
    return this.#isBroken;
  }

  /** Reads the new entries of a later version of the thread. False for another thread or an earlier version. */
  goOn(thread: Thread): boolean {
    if (this.#isBroken) return false;
    if (thread === this.#thread) return true;
    if (!isContinuation(this.#thread, thread)) return false;
    this.#read(thread);
    return true;
  }

  /** Whether `thread` is another tail of the same thread. This engine is then no longer needed. */
  isOutlivedBy({ id, firstSeq }: Thread): boolean {
    return this.#thread.id === id && this.#thread.firstSeq !== firstSeq;
  }

  /** The messages before the history. */
  front(systemPrompt: string | undefined): Front {
    return this.#front.make(systemPrompt, this.history.coverage.summary, this.#settings.policy.summaryRole);
  }

  /** Runs `look` while the pending items are in the history, then removes them. */
  withPending<T>(pending: readonly LaneItem[], look: () => T): T {
    if (pending.length === 0) return look();
    return this.history.journal.tentatively(() => {
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
    this.#isBroken = true; // until everything is read
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

  /** Refuses a pending item that would show nothing, because the caller wants it shown. */
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
    if (!this.log.complete) throw tailTooShort(this.#thread); // its call may be before the loaded entries
    throw invalid(path, "would show nothing: no call waits for this result");
  }

  #begin(): Parts {
    this.#generation = this.log.generation;
    this.#taken = 0;
    const history: History = new History((from) => costs.changed(from));
    const costs = new Costs(history, this.renderOptions, this.log.complete);
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
    const rev = (): number => this.#rev;
    return {
      tokensOf,
      bytesPerEnd: 2 * policy.toolResults.maxTokens,
      canKeep: canKeep(policy, model),
      keepsApprovals: rulesOf(rules).keepsApprovals,
      canReadRun: rulesOf(rules).leavesOutForeignRuns ? canReadRunOf(model) : () => true,
      get rev() {
        return rev();
      },
    };
  }
}

/** Versions of one thread share their entry objects. */
function isContinuation(before: Thread, after: Thread): boolean {
  const { firstSeq, lastSeq } = before;
  if (after.id !== before.id || after.firstSeq !== firstSeq || after.lastSeq < lastSeq) return false;
  if (lastSeq < firstSeq) return after.base === before.base;
  return after.at(lastSeq) === before.at(lastSeq) && after.at(firstSeq) === before.at(firstSeq);
}

/** The thinking a model can read: that of the same model of the same provider. */
function canKeep({ thinking }: ContextPolicy, model: string | undefined): (part: ThinkingPart) => boolean {
  if (thinking !== "auto") return () => thinking === "keep";
  const asked = modelName(model);
  return (part) =>
    asked.model !== undefined &&
    part.model === asked.model &&
    providerName(part.provider) === providerName(asked.provider);
}

/** Of calls run by a provider, a model can read those of its own provider. */
function canReadRunOf(model: string | undefined): (part: ProviderRunPart) => boolean {
  const { provider } = modelName(model);
  return (part) => provider !== undefined && canReadRun(part, provider);
}

/** The AI SDK names one provider both "anthropic.messages" and "anthropic". */
function providerName(provider: string | undefined): string | undefined {
  return provider?.split(".")[0];
}
