import { ContextPolicy, heuristic, type Message, type TokenCounter } from "heddle";
import { countMessage, countTools } from "heddle/core";
import { ProjectionError } from "../../../../src/projection/error.ts";
import type { ProjectionInput } from "../../../../src/projection/input/input.ts";
import type { Projection } from "../../../../src/projection/projection.ts";
import { firstOf, type Structure } from "./blocks.ts";
import { compose, type Draft, headOf, type Setting } from "./compose.ts";
import { type Coverage, coverageOf, type Reader, structured } from "./coverage.ts";
import { type Folded, fold, type Place } from "./fold.ts";
import { logOf } from "./log.ts";
import { metaOf } from "./meta.ts";
import { type Item, itemOf } from "./read.ts";
import { clearedOf } from "./results.ts";
import { settled } from "./thinking.ts";
import { type Window, windowOf } from "./window.ts";

const BUILT_IN = ["message", "tool_call", "tool_result", "summary", "ai_message", "ai_context_operation"];

/** The projection as the rules say it, from scratch and with no thought for speed. */
export function naiveProject(input: ProjectionInput): Projection {
  const { tools = [], tokenCounter: counter = heuristic, model, readers } = input;
  const policy = ContextPolicy.create(input.policy);
  for (const kind of policy.includeKinds) {
    if (BUILT_IN.includes(kind) || readers?.[kind] !== undefined) continue;
    throw new ProjectionError({ code: "no_reader", message: "no reader", kind });
  }
  const { lane, log, pendingCount } = logOf(input);
  const folded = fold(log, lane, input.rules);
  const read: Reader = (place) => itemOf(place, policy.includeKinds, input);
  const coverage = coverageOf(folded, policy, read);
  const { blocks, dropped } = structured(folded.places, read);
  const silent = folded.places.filter((place) => place.pending && isSilent(read(place), dropped));
  if (silent.length > 0) throw new ProjectionError({ code: "invalid_input", message: "pending, and shows nothing" });

  const system = systemDrafts(input, policy, folded);
  const summary = summaryDrafts(coverage, policy);
  const toolTokens = countTools(tools, counter, model);
  const roomBeside = (drafts: readonly Draft[]) =>
    policy.maxInputTokens - policy.reserveOutputTokens - tokensOf(drafts, counter, model) - toolTokens;
  const whole: Setting = {
    blocks,
    edge: coverage.edge,
    moves: coverage.moves,
    hasSummary: coverage.shown !== undefined,
    cleared: clearedOf(blocks, policy, folded.measure),
    shrunk: new Map(),
    noted: new Set(),
    policy,
    model,
    counter,
    headMost: 0,
  };
  const windowBeside = (drafts: readonly Draft[], covers: Partial<Setting> = {}) => {
    const room = roomBeside(drafts);
    return windowOf({ ...whole, ...covers, headMost: room / 2 }, { room, counter, measure: folded.measure });
  };
  // What is new comes before the summary, which is left out where both do not fit. Then nothing is covered, if that fits.
  const [before, window] = firstThatFits<readonly [readonly Draft[], Window]>([
    () => [[...system, ...summary], windowBeside([...system, ...summary])],
    ...(summary.length === 0
      ? []
      : [() => [system, windowBeside(system, UNCOVERED)] as const, () => [system, windowBeside(system)] as const]),
  ]);
  const { start, setting } = window;
  for (const block of blocks.slice(start)) {
    const { what } = firstOf(block);
    if (what.type === "unreadable") throw what.error;
  }
  const lines = settled([...before, ...compose(start, setting)], tools, counter, model);
  const meta = metaOf({
    input,
    policy,
    lane,
    pendingCount,
    folded,
    coverage,
    dropped,
    window,
    lines,
    read,
    toolTokens,
  });
  return {
    messages: lines.map(({ message }) => message),
    toolSpec: tools,
    provenance: lines.map(({ provenance }) => provenance),
    meta: {
      ...meta,
      view: { ...meta.view, headSeqs: seqsOf(headOf(start, setting).map((head) => firstOf(head).place)) },
    },
  };
}

const UNCOVERED = { edge: Number.NEGATIVE_INFINITY, moves: [], hasSummary: false } as const;

/** The first that does not fail, or the failure of the first. */
function firstThatFits<T>([first, ...others]: readonly (() => T)[]): T {
  if (first === undefined) throw new RangeError("nothing to try");
  try {
    return first();
  } catch (error) {
    if (others.length === 0) throw error;
    try {
      return firstThatFits(others);
    } catch {
      throw error;
    }
  }
}

function isSilent(item: Item | undefined, dropped: Structure["dropped"]): boolean {
  if (item === undefined || item.what.type === "blank" || item.what.type === "nothing") return true;
  return dropped.some((one) => one.item.place.seq === item.place.seq);
}

function tokensOf(drafts: readonly Draft[], counter: TokenCounter, model: string | undefined): number {
  return drafts.reduce((total, { message }) => total + countMessage(message, counter, model), 0);
}

function systemDrafts({ system }: ProjectionInput, policy: ContextPolicy, { systemPrompt }: Folded): Draft[] {
  const given = typeof system === "string" ? system : system?.prompt;
  const content = systemPrompt ?? given ?? policy.systemPrompt ?? "";
  if (content.trim() === "") return [];
  return [{ message: { role: "system", content }, segment: "system", places: [], fingerprints: [], thoughts: [] }];
}

function summaryDrafts({ shown }: Coverage, { summaryRole: role }: ContextPolicy): Draft[] {
  if (shown === undefined) return [];
  const { seq, kind, v, payload } = shown;
  if (v > 1) throw new ProjectionError({ code: "entry_too_new", message: "too new", seq, kind });
  const text = payload["content"];
  if (typeof text !== "string") throw new ProjectionError({ code: "entry_unreadable", message: "no text", seq, kind });
  const message: Message = { role, content: `Summary of earlier conversation:\n${text}` };
  return [{ message, segment: "summary", places: [shown], fingerprints: [], thoughts: [] }];
}

/** The entries that places are of, each once. */
function seqsOf(places: readonly Place[]): number[] {
  return [...new Set(places.map(({ seq }) => seq))];
}
