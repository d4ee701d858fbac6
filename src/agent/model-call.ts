import type { ProjectionView } from "../projection/projection.ts";
import type { Entry } from "../thread/entry.ts";
import { isPlainObject, type JsonObject, type JsonValue } from "../thread/json.ts";
import type { Content, ToolCall } from "../thread/message.ts";

/** Token counts from the provider. A count that the provider did not report is absent, unless it is estimated. */
export type Usage = {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  /** Part of the input: tokens read from the provider's cache, and tokens written to it. */
  readonly cacheReadTokens?: number;
  readonly cacheWriteTokens?: number;
  /** Part of the output: tokens spent on thinking. */
  readonly reasoningTokens?: number;
  /** Counts of an answer that was stopped or broken are estimated, because the provider reports them at its end. Absent: none. */
  readonly estimated?: true;
};

/** The counts of a usage. */
type Counts = Omit<Usage, "estimated">;

/** Why the model stopped. */
export type ModelFinishReason =
  | "stop"
  | "length"
  | "content-filter"
  | "tool-calls"
  | "error"
  /** The stream ended without a finish reason, so the answer may be incomplete. */
  | "interrupted"
  /** The provider paused its own tools. The model is called again with the answer so far, which counts as another call. */
  | "paused"
  | "other";

/** A complete answer of the model in Heddle's own format: all parts in order, with their metadata. */
export interface ModelAnswer {
  readonly content: Content;
  readonly toolCalls: readonly ToolCall[];
  readonly usage: Usage;
  readonly finishReason: ModelFinishReason;
  /** The provider's id of the answer, and the model that gave it. An alias such as "latest" is resolved here. */
  readonly response?: { readonly id?: string; readonly modelId?: string };
}

/** Usage by model name (`provider:model`). Calls whose record has no model are counted under "unknown". */
export type UsageByModel = { readonly [model: string]: Usage };

/** Adds the usage of one call. */
export function addModelUsage(before: UsageByModel, model: string | undefined, usage: Usage): UsageByModel {
  const name = model ?? "unknown";
  const own = Object.hasOwn(before, name) ? before[name] : undefined; // a model name is user input, and may be a name like "constructor"
  return { ...before, [name]: addUsage(own ?? {}, usage) };
}

/**
 * Adds the token counts of two usages.
 *
 * @example
 * addUsage({ inputTokens: 10, outputTokens: 2 }, { inputTokens: 12 }); // { inputTokens: 22, outputTokens: 2 }
 */
export function addUsage(a: Usage, b: Usage): Usage {
  const sum: { -readonly [Key in keyof Counts]: Usage[Key] } = {};
  const { estimated = b.estimated, ...counts }: Usage = a;
  const { estimated: _estimated, ...more } = b;
  for (const key of Object.keys({ ...counts, ...more }) as (keyof Counts)[]) sum[key] = (a[key] ?? 0) + (b[key] ?? 0); // Usage has no other keys
  return { ...sum, ...(estimated && { estimated }) };
}

/** The inputs of a model call. Together with the thread and the named blobs it is enough to rebuild the messages. */
export type CallBasis = {
  readonly model?: string;
  readonly basisRev: number;
  readonly basisLastSeq: number;
  readonly lane: string;
  /** The hash of the blob with the context policy. */
  readonly policy: string;
  /** The hash of the blob with system prompt, tool specs and settings. */
  readonly environment: string;
  /** The last hash of the hash chain over tool specs and messages. */
  readonly fingerprint: string;
  readonly projector: string;
  readonly counter: { readonly id: string; readonly version: string };
  readonly calibration: number;
  readonly view: ProjectionView;
  readonly estimatedTokens: number;
  /** The part of the estimate for files. Absent: none. */
  readonly fileTokens?: number;
  /** The seqs of the settings that held. Absent: none. */
  readonly settingSeqs?: readonly number[];
};

/** The record of a model call. `recordedCall` reads it from an entry. */
export type CallRecord = CallBasis & {
  /** The hash of the blob with the messages, tools or settings that `prepareStep` or `transformRequest` changed. */
  readonly sent?: string;
  /** The calls of the answer that `repairToolCall` has changed, as the model wrote them. */
  readonly repaired?: readonly ToolCall[];
  readonly usage: Usage;
  readonly finishReason: ModelFinishReason;
  /** How many attempts the call took, over all processes. Absent: one. */
  readonly attempts?: number;
  /** The number of the request's last event before this answer. After a crash the numbers continue from there. */
  readonly eventSeq?: number;
  /** Milliseconds of work of the request so far, over all process starts. Only present when there is a time limit. */
  readonly workedMs?: number;
};

/** The content of the environment blob of a call. */
export type CallEnvironment = {
  readonly systemPrompt?: string;
  readonly tools: readonly JsonObject[];
  readonly settings: JsonObject;
};

/** Marks a record without its usual values. A record of an earlier version has all values, and no mark. */
const FORM = 2;

// These never change, because stored records lack them. Any other value is written in full.
const COUNTER = Object.freeze({ id: "heuristic", version: "1" });
const LISTS = ["headSeqs", "cleared", "thinkingDropped"] as const;
const COUNTS = ["cacheReadTokens", "cacheWriteTokens", "reasoningTokens"] as const;

/** The record as `payload.call` has it on this lane: without the values that most records have. */
export function storedCall(record: CallRecord, contextRef: string): JsonObject {
  const { basisRev, lane, counter, calibration, view, usage, ...own } = record;
  const isUsualCounter = counter.id === COUNTER.id && counter.version === COUNTER.version;
  const shown = storedView(view);
  return {
    v: FORM,
    ...own,
    ...(basisRev !== own.basisLastSeq + 1 && { basisRev }),
    ...(lane !== contextRef && { lane }),
    ...(!isUsualCounter && { counter }),
    ...(calibration !== 1 && { calibration }),
    ...(Object.keys(shown).length > 0 && { view: shown }),
    usage: storedUsage(usage),
  };
}

/** A view from entry 0 is usual. Null stands for one without history. */
function storedView({ headSeqs, cleared, thinkingDropped, startSeq, ...own }: ProjectionView): JsonObject {
  return {
    ...(startSeq !== 0 && { startSeq: startSeq ?? null }),
    ...own,
    ...(headSeqs.length > 0 && { headSeqs }),
    ...(cleared.length > 0 && { cleared }),
    ...(thinkingDropped.length > 0 && { thinkingDropped }),
  };
}

/** Of these counts, 0 is usual. Null stands for one that was not reported. */
function storedUsage(usage: Usage): JsonObject {
  const counts = COUNTS.map((name) => [name, usage[name] ?? null] as const).filter(([, count]) => count !== 0);
  const { cacheReadTokens, cacheWriteTokens, reasoningTokens, ...own } = usage;
  return { ...own, ...Object.fromEntries(counts) };
}

/**
 * The record of the model call that made an entry. `payload.call` lacks values that most records have; this adds them.
 * A summary and an entry of your own loop have only some of the fields.
 *
 * @example
 * for (const entry of thread.toArray()) console.log(recordedCall(entry)?.view?.startSeq);
 */
export function recordedCall({ payload }: Pick<Entry, "payload">): Partial<CallRecord> | undefined {
  const { call, contextRef } = payload as JsonObject; // every payload is a JSON object
  if (!isPlainObject(call)) return undefined;
  const { v, ...own } = call as JsonObject; // a part of a payload
  if (v !== FORM) return call as Partial<CallRecord>; // written by Heddle
  const usual = { basisRev: Number(own["basisLastSeq"]) + 1, lane: contextRef, counter: COUNTER, calibration: 1 };
  const parts = { view: wholeView(own["view"]), usage: wholeUsage(own["usage"]) };
  return { ...usual, ...own, ...parts } as unknown as CallRecord; // as above
}

function wholeView(stored: JsonValue | undefined): JsonObject {
  const { startSeq = 0, ...own } = isPlainObject(stored) ? (stored as JsonObject) : {}; // a part of a payload
  return { ...(startSeq !== null && { startSeq }), ...Object.fromEntries(LISTS.map((name) => [name, []])), ...own };
}

function wholeUsage(stored: JsonValue | undefined): JsonObject {
  const counts = isPlainObject(stored) ? stored : {};
  const whole = { ...Object.fromEntries(COUNTS.map((name) => [name, 0])), ...counts } as JsonObject; // a part of a payload
  return Object.fromEntries(Object.entries(whole).filter(([, count]) => count !== null));
}

/** The usage in the record of a call. */
export function recordedUsage(call: unknown): Usage {
  const usage = isPlainObject(call) ? call["usage"] : undefined;
  return isPlainObject(usage) ? (usage as Usage) : {}; // the agent wrote this entry
}
