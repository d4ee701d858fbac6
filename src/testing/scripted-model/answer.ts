import type { FinishReason, Usage } from "../../agent/answer.ts";
import type { PartMetadata } from "../../thread/message.ts";
import { apiError } from "./api-error.ts";
import { invalidScript } from "./errors.ts";
import type { V4Usage } from "./language-model.ts";
import type { ScriptedRequest } from "./request.ts";
import type { Deltas, ScriptedAnswer, ScriptedCall, ScriptedPart } from "./script.ts";

interface SaidText {
  readonly type: "text" | "thinking";
  readonly deltas: readonly string[];
  readonly metadata: PartMetadata;
}

export interface SaidCall {
  readonly type: "call";
  readonly id: string;
  readonly name: string;
  readonly deltas: readonly string[];
  readonly metadata: PartMetadata;
}

export type Said = SaidText | SaidCall;

/** A scripted answer with all defaults. */
export interface Answer {
  readonly said: readonly Said[];
  readonly usage: V4Usage;
  readonly finishReason: FinishReason;
  readonly failure?: { readonly error: Error; readonly reported: boolean; readonly after?: number };
  readonly delayMs: number;
  readonly deltaDelayMs: number;
  readonly hang: boolean;
}

export function answerOf(given: string | ScriptedAnswer, request: ScriptedRequest, nextCallId: () => string): Answer {
  const scripted = typeof given === "string" ? { text: given } : given;
  const said = partsOf(scripted).map((part) => saidOf(part, nextCallId));
  const { error, after, delayMs = 0, deltaDelayMs = 0, hang = false } = scripted;
  const failure = error instanceof Error ? error : error && apiError(error);
  return {
    said,
    usage: usageOf(scripted.usage ?? {}, said, request),
    finishReason: scripted.finishReason ?? (said.some(({ type }) => type === "call") ? "tool-calls" : "stop"),
    ...(failure !== undefined && {
      failure: { error: failure, reported: failure !== error, ...(after !== undefined && { after }) },
    }),
    delayMs,
    deltaDelayMs,
    hang,
  };
}

/** The complete text of a part, for doGenerate, which has no deltas. */
export function wholeText({ deltas }: Said): string {
  return deltas.join("");
}

function partsOf({ parts, thinking, text, calls = [], metadata }: ScriptedAnswer): readonly ScriptedPart[] {
  if (parts !== undefined) return parts;
  const owned = metadata !== undefined && { metadata };
  return [
    ...(thinking === undefined ? [] : [{ thinking, ...owned }]),
    ...(text === undefined ? [] : [{ text, ...(thinking === undefined && owned) }]),
    ...calls,
  ];
}

function saidOf(part: ScriptedPart, nextCallId: () => string): Said {
  const { metadata = {} } = part;
  if ("thinking" in part) return { type: "thinking", deltas: deltasOf(part.thinking), metadata };
  if ("text" in part) return { type: "text", deltas: deltasOf(part.text), metadata };
  return { type: "call", id: part.id ?? nextCallId(), name: part.name, deltas: inputOf(part), metadata };
}

function inputOf({ name, input, arguments: args = {} }: ScriptedCall): readonly string[] {
  if (input !== undefined) return deltasOf(input);
  const text = JSON.stringify(args);
  if (text === undefined) throw invalidScript(`the arguments of the call of ${name} are no JSON`);
  return [text];
}

function deltasOf(deltas: Deltas): readonly string[] {
  return typeof deltas === "string" ? [deltas] : [...deltas];
}

function usageOf(given: Usage, said: readonly Said[], request: ScriptedRequest): V4Usage {
  const spoken = (thinking: boolean) =>
    sum(said.filter(({ type }) => (type === "thinking") === thinking).map((part) => tokens(wholeText(part))));
  const {
    reasoningTokens: reasoning = spoken(true),
    cacheReadTokens: cacheRead = 0,
    cacheWriteTokens: cacheWrite = 0,
  } = given;
  const input = given.inputTokens ?? inputTokens(request);
  const output = given.outputTokens ?? reasoning + spoken(false);
  return {
    inputTokens: { total: input, noCache: Math.max(0, input - cacheRead - cacheWrite), cacheRead, cacheWrite },
    outputTokens: { total: output, text: Math.max(0, output - reasoning), reasoning },
  };
}

function inputTokens({ system, messages }: ScriptedRequest): number {
  const texts = messages.flatMap(({ text = "", thinking = "", calls = [], results = [] }) => [
    text,
    thinking,
    ...calls.map((call) => JSON.stringify(call.arguments)),
    ...results.map(({ value }) => (typeof value === "string" ? value : JSON.stringify(value))),
  ]);
  return sum([system, ...texts].map(tokens));
}

/** A simple count, which a test can predict. */
function tokens(text: string): number {
  return Math.ceil(text.length / 4);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
