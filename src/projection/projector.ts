import { activeLane } from "../lanes/active-lane.ts";
import type { Entry } from "../thread/entry.ts";
import type { Message } from "../thread/message.ts";
import type { Thread } from "../thread/thread.ts";
import { Engine } from "./engine/engine.ts";
import type { FingerprintChain } from "./engine/fingerprint.ts";
import { type RenderPass, runRenderPass } from "./engine/render-pass.ts";
import {
  definedFields,
  haveSameBlocks,
  haveSameProjection,
  invalid,
  isRecalibrated,
  type ProjectionInput,
  pendingEntries,
  type Settings,
  settingsOf,
} from "./input/input.ts";
import type { ExplainedEntry, Projection, Segment } from "./projection.ts";
import { explainEntries } from "./report/explain.ts";
import { projectionOf } from "./report/meta.ts";
import { rulesOf } from "./rules.ts";

/**
 * Computes the context that the model is shown. It is a pure function of its input. To project one thread repeatedly,
 * use `createProjector`.
 * @example
 * const thread = Thread.create().append({ kind: "message", payload: { role: "user", content: "What's 2+2?" } });
 * const { messages, meta } = project({ thread, system: "Be brief." });
 * messages.length; // 2
 * meta.estimatedTokens; // 24
 */
export function project(input: ProjectionInput): Projection {
  return createProjector({ keep: 1 }).project(input);
}

/**
 * Returns for each entry whether it is shown, and why, with the same computation as `project`. Where `project` throws
 * because the newest block does not fit, this returns the rejected decision.
 * @example
 * const thread = Thread.create().append({ kind: "message", payload: { role: "user", content: "What's 2+2?" } });
 * explain({ thread }); // [{ seq: 0, kind: "message", status: "shown", rule: "in_window", tokens: 12, message: 0 }]
 */
export function explain(input: ProjectionInput): ExplainedEntry[] {
  return createProjector({ keep: 1 }).explain(input);
}

/** The interface agents use to project. The default is `createProjector()`; your own may wrap it. */
export interface Projector {
  project(input: ProjectionInput): Projection;
  explain(input: ProjectionInput): ExplainedEntry[];
}

/** Defaults for the fields of every input. */
export type ProjectorOptions = Partial<Omit<ProjectionInput, "thread" | "pending" | "previous">> & {
  /** How many lanes are cached, over all threads. Default 16. */
  readonly keep?: number | undefined;
};

/** The cached state of one lane for one set of settings. */
interface CachedLane {
  readonly engine: Engine;
  readonly settings: Settings;
  chain?: FingerprintChain;
  cached?: CachedProjection;
}

interface CachedProjection {
  readonly thread: Thread;
  readonly settings: Settings;
  readonly pendingText: string;
  readonly projection: Projection;
}

/**
 * A projector with a cache. It returns what `project` returns. Equal input gives the same object, and a thread that has
 * grown costs only its new entries.
 *
 * @example
 * const projector = createProjector({ policy: { maxInputTokens: 32_000 } });
 * const thread = Thread.create().append({ kind: "message", payload: { role: "user", content: "What's 2+2?" } });
 * projector.project({ thread }).messages; // [{ role: "user", content: "What's 2+2?" }]
 */
export function createProjector(options: ProjectorOptions = {}): Projector {
  const { keep = 16, ...defaults } = definedFields(options, "options", ["keep"]);
  if (!Number.isSafeInteger(keep) || keep < 1) throw invalid("keep", "must be a whole number of at least 1", keep);
  let lanes: readonly CachedLane[] = [];
  let lastSettings: Settings | undefined;

  const find = (input: ProjectionInput, settings: Settings): CachedLane => {
    const { thread } = input;
    const lane = settings.lane ?? activeLane(thread, rulesOf(settings.rules));
    const known = lanes.find(
      ({ engine, settings: before }) =>
        engine.lane === lane && haveSameBlocks(before, settings) && engine.extendTo(thread),
    );
    const found = known ?? { engine: new Engine(thread, lane, settings), settings };
    const isUseless = ({ engine, settings: before }: CachedLane): boolean =>
      engine.isBroken || engine.isReplacedBy(thread) || (engine.lane === lane && isRecalibrated(before, settings));
    const others = lanes.filter(
      (other) => other !== found && (known === undefined ? !isUseless(other) : !other.engine.isBroken),
    );
    lanes = [found, ...others].slice(0, keep);
    return found;
  };

  const withLane = <T>(
    given: ProjectionInput,
    compute: (lane: CachedLane, settings: Settings, pending: readonly Entry[], input: ProjectionInput) => T,
  ): T => {
    const input = { ...defaults, ...definedFields(given, "input") };
    const settings = settingsOf(input, lastSettings);
    lastSettings = settings;
    const found = find(input, settings);
    return compute(found, settings, pendingEntries(input.pending, input.thread.rev, found.engine.lane), input);
  };

  return {
    project: (input) =>
      withLane(input, (lane, settings, pending, { thread, previous }) => {
        const pendingText = pending.length === 0 ? "" : JSON.stringify(pending);
        const { cached } = lane;
        if (cached !== undefined && isSameInput(cached, { thread, settings, pendingText })) {
          return comparedWith(previous, cached.projection);
        }
        const projection = runRenderPass(
          { engine: lane.engine, settings, thread, pending, before: lane.chain, mustFit: true },
          (pass) => {
            lane.chain = pass.assembly.chain;
            return projectionOf(pass);
          },
        );
        lane.cached = { thread, settings, pendingText, projection };
        return comparedWith(previous, projection);
      }),
    explain: (input) =>
      withLane(input, ({ engine, chain }, settings, pending, { thread }) =>
        runRenderPass({ engine, settings, thread, pending, before: chain, mustFit: false }, (pass: RenderPass) =>
          explainEntries(pass),
        ),
      ),
  };
}

function isSameInput(a: CachedProjection, b: Omit<CachedProjection, "projection">): boolean {
  return a.thread === b.thread && a.pendingText === b.pendingText && haveSameProjection(a.settings, b.settings);
}

/** Adds `stablePrefix`. It is computed on each call, because the caller may have changed `previous`. */
function comparedWith(previous: ProjectionInput["previous"], projection: Projection): Projection {
  if (previous === undefined) return projection;
  const stablePrefix = sharedPrefix(projection.messages, previous.messages);
  return Object.freeze({ ...projection, meta: Object.freeze({ ...projection.meta, stablePrefix }) });
}

function sharedPrefix(messages: readonly Message[], previous: readonly Message[]): number {
  const differs = messages.findIndex((message, index) => !isSameMessage(message, previous[index]));
  return differs < 0 ? messages.length : differs;
}

function isSameMessage(message: Message, other: Message | undefined): boolean {
  return message === other || (other !== undefined && JSON.stringify(message) === JSON.stringify(other));
}

/** Returns the messages of one part of a context. */
function segmentOf({ messages, provenance }: Projection, segment: Segment): readonly Message[] {
  return messages.filter((_, index) => provenance[index]?.segment === segment);
}

/**
 * Returns one of the four parts of a context as a list of messages. Joined in this order, they are the context.
 * @example
 * const thread = Thread.create().append({ kind: "message", payload: { role: "user", content: "What's 2+2?" } });
 * const input = { thread, system: "Be brief." };
 * concat(segments.system(input), segments.summary(input), segments.history(input), segments.pending(input)).length; // 2
 */
export const segments = Object.freeze({
  system: (input: ProjectionInput) => segmentOf(project(input), "system"),
  summary: (input: ProjectionInput) => segmentOf(project(input), "summary"),
  history: (input: ProjectionInput) => segmentOf(project(input), "history"),
  pending: (input: ProjectionInput) => segmentOf(project(input), "pending"),
});

/** Joins lists of messages to one list. */
export function concat(...lists: readonly (readonly Message[])[]): readonly Message[] {
  return lists.flat();
}
