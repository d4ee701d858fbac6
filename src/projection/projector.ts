import { activeLane } from "../lanes/active-lane.ts";
import type { Entry } from "../thread/entry.ts";
import type { Message } from "../thread/message.ts";
import type { Thread } from "../thread/thread.ts";
import { givenFields, invalid } from "./input/check.ts";
import type { ProjectionInput } from "./input/input.ts";
import { pendingEntries } from "./input/pending.ts";
import { isRecalibrated, type Settings, sameReading, sameSettings, settingsOf } from "./input/settings.ts";
import type { ExplainedEntry, Projection } from "./projection.ts";
import { explanationOf } from "./report/explain/explanation.ts";
import { projectionOf } from "./report/meta.ts";
import { rulesOf } from "./rules.ts";
import type { Chain } from "./run/chain.ts";
import { Engine } from "./run/engine.ts";
import { type Run, run } from "./run/run.ts";

/** The interface agents use to project. The default is `createProjector()`; your own may wrap it. */
export interface Projector {
  project(input: ProjectionInput): Projection;
  explain(input: ProjectionInput): ExplainedEntry[];
}

/** Defaults for the fields of every input. */
export type ProjectorOptions = Partial<Omit<ProjectionInput, "thread" | "pending" | "previous">> & {
  /** The number of cached lanes, over all threads. Default 16. */
  readonly keep?: number | undefined;
};

/** The cache of one lane of one thread for one way of reading it. */
interface Kept {
  readonly engine: Engine;
  readonly settings: Settings;
  chain?: Chain;
  answer?: Answer;
}

interface Answer {
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
  const { keep = 16, ...defaults } = givenFields(options, "options", ["keep"]);
  if (!Number.isSafeInteger(keep) || keep < 1) throw invalid("keep", "must be a whole number of at least 1", keep);
  let kept: readonly Kept[] = [];
  let lastSettings: Settings | undefined;

  const find = (input: ProjectionInput, settings: Settings): Kept => {
    const { thread } = input;
    const lane = settings.lane ?? activeLane(thread, rulesOf(settings.rules));
    const known = kept.find(
      ({ engine, settings: before }) => engine.lane === lane && sameReading(before, settings) && engine.goOn(thread),
    );
    const found = known ?? { engine: new Engine(thread, lane, settings), settings };
    const isDead = ({ engine, settings: before }: Kept): boolean =>
      engine.isBroken || engine.isOutlivedBy(thread) || (engine.lane === lane && isRecalibrated(before, settings));
    const others = kept.filter(
      (other) => other !== found && (known === undefined ? !isDead(other) : !other.engine.isBroken),
    );
    kept = [found, ...others].slice(0, keep);
    return found;
  };

  const look = <T>(
    given: ProjectionInput,
    tell: (kept: Kept, settings: Settings, pending: readonly Entry[], input: ProjectionInput) => T,
  ): T => {
    const input = { ...defaults, ...givenFields(given, "input") };
    const settings = settingsOf(input, lastSettings);
    lastSettings = settings;
    const found = find(input, settings);
    return tell(found, settings, pendingEntries(input.pending, input.thread.rev, found.engine.lane), input);
  };

  return {
    project: (input) =>
      look(input, (kept, settings, pending, { thread, previous }) => {
        const pendingText = pending.length === 0 ? "" : JSON.stringify(pending);
        const { answer } = kept;
        if (answer !== undefined && isSameQuestion(answer, { thread, settings, pendingText })) {
          return comparedWith(previous, answer.projection);
        }
        const projection = run(
          { engine: kept.engine, settings, thread, pending, before: kept.chain, mustFit: true },
          (run) => {
            kept.chain = run.assembly.chain;
            return projectionOf(run);
          },
        );
        kept.answer = { thread, settings, pendingText, projection };
        return comparedWith(previous, projection);
      }),
    explain: (input) =>
      look(input, ({ engine, chain }, settings, pending, { thread }) =>
        run({ engine, settings, thread, pending, before: chain, mustFit: false }, (run: Run) => explanationOf(run)),
      ),
  };
}

function isSameQuestion(a: Answer, b: Omit<Answer, "projection">): boolean {
  return a.thread === b.thread && a.pendingText === b.pendingText && sameSettings(a.settings, b.settings);
}

/** `previous` does not affect the messages. It is compared on each call, because the caller may have changed it. */
function comparedWith(previous: ProjectionInput["previous"], projection: Projection): Projection {
  if (previous === undefined) return projection;
  const stablePrefix = sharedPrefix(projection.messages, previous.messages);
  return Object.freeze({ ...projection, meta: Object.freeze({ ...projection.meta, stablePrefix }) });
}

function sharedPrefix(messages: readonly Message[], previous: readonly Message[]): number {
  const differs = messages.findIndex((message, index) => !isSame(message, previous[index]));
  return differs < 0 ? messages.length : differs;
}

function isSame(message: Message, other: Message | undefined): boolean {
  return message === other || (other !== undefined && JSON.stringify(message) === JSON.stringify(other));
}
