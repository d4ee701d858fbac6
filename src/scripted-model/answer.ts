import type { ModelFinishReason, Usage } from "../agent/model-call.ts";
import { thawObject } from "../providers/message-parts.ts";
import type { PartMetadata } from "../thread/message.ts";
import type { V4Content, V4FinishReason, V4Metadata, V4StreamPart, V4ToolCall, V4Usage } from "./language-model.ts";
import type { ScriptedRequest } from "./request.ts";
import {
  type Deltas,
  invalidScript,
  type ScriptedAnswer,
  type ScriptedApiError,
  type ScriptedCall,
  type ScriptedPart,
} from "./script.ts";

interface AnswerTextPart {
  readonly type: "text" | "thinking";
  readonly deltas: readonly string[];
  readonly metadata: PartMetadata;
}

interface AnswerCallPart {
  readonly type: "call";
  readonly id: string;
  readonly name: string;
  readonly deltas: readonly string[];
  readonly metadata: PartMetadata;
}

type AnswerPart = AnswerTextPart | AnswerCallPart;

/** A scripted answer with all defaults. */
export interface CompleteAnswer {
  readonly parts: readonly AnswerPart[];
  readonly usage: V4Usage;
  readonly finishReason: ModelFinishReason;
  /**
   * `isResponse` means an error response of the provider, which a stream reports as a part. Other errors are thrown.
   */
  readonly failure?: { readonly error: Error; readonly isResponse: boolean; readonly after?: number };
  readonly delayMs: number;
  readonly deltaDelayMs: number;
  readonly hang: boolean;
}

export function answerOf(
  given: string | ScriptedAnswer,
  request: ScriptedRequest,
  nextCallId: () => string,
): CompleteAnswer {
  const scripted = typeof given === "string" ? { text: given } : given;
  const parts = scriptedPartsOf(scripted).map((part) => answerPartOf(part, nextCallId));
  const { error, after, delayMs = 0, deltaDelayMs = 0, hang = false } = scripted;
  const failure = error instanceof Error ? error : error && apiError(error);
  return {
    parts,
    usage: usageOf(scripted.usage ?? {}, parts, request),
    finishReason: scripted.finishReason ?? (parts.some(({ type }) => type === "call") ? "tool-calls" : "stop"),
    ...(failure !== undefined && {
      failure: { error: failure, isResponse: failure !== error, ...(after !== undefined && { after }) },
    }),
    delayMs,
    deltaDelayMs,
    hang,
  };
}

/** Joins the deltas of a part, because doGenerate returns whole texts. */
function wholeText({ deltas }: AnswerPart): string {
  return deltas.join("");
}

function scriptedPartsOf({ parts, thinking, text, calls = [], metadata }: ScriptedAnswer): readonly ScriptedPart[] {
  if (parts !== undefined) return parts;
  const owned = metadata !== undefined && { metadata };
  return [
    ...(thinking === undefined ? [] : [{ thinking, ...owned }]),
    ...(text === undefined ? [] : [{ text, ...(thinking === undefined && owned) }]),
    ...calls,
  ];
}

function answerPartOf(part: ScriptedPart, nextCallId: () => string): AnswerPart {
  const { metadata = {} } = part;
  if ("thinking" in part) return { type: "thinking", deltas: deltasOf(part.thinking), metadata };
  if ("text" in part) return { type: "text", deltas: deltasOf(part.text), metadata };
  return { type: "call", id: part.id ?? nextCallId(), name: part.name, deltas: inputOf(part), metadata };
}

function inputOf({ name, input, arguments: args = {} }: ScriptedCall): readonly string[] {
  if (input !== undefined) return deltasOf(input);
  const text = JSON.stringify(args);
  if (text === undefined) throw invalidScript(`the arguments of the call of ${name} are not JSON`);
  return [text];
}

function deltasOf(deltas: Deltas): readonly string[] {
  return typeof deltas === "string" ? [deltas] : [...deltas];
}

function usageOf(given: Usage, parts: readonly AnswerPart[], request: ScriptedRequest): V4Usage {
  const outputTokens = (thinking: boolean) =>
    sum(parts.filter(({ type }) => (type === "thinking") === thinking).map((part) => tokens(wholeText(part))));
  const {
    reasoningTokens: reasoning = outputTokens(true),
    cacheReadTokens: cacheRead = 0,
    cacheWriteTokens: cacheWrite = 0,
  } = given;
  const input = given.inputTokens ?? inputTokens(request);
  const output = given.outputTokens ?? reasoning + outputTokens(false);
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

/** Counts one token for four characters, so that a test can predict the usage. */
function tokens(text: string): number {
  return Math.ceil(text.length / 4);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

/** The content that `doGenerate` returns. */
export function contentOf({ parts }: CompleteAnswer): V4Content[] {
  return parts.map((part) => {
    if (part.type === "call") return toolCallContent(part);
    const type = part.type === "thinking" ? "reasoning" : "text";
    return { type, text: wholeText(part), ...withMetadata(part.metadata) };
  });
}

/** Returns the same content as stream parts, without the start and finish parts. */
export function streamPartsOf({ parts }: CompleteAnswer): readonly V4StreamPart[] {
  return parts.flatMap(streamPartsOfPart);
}

/** Whether a stream part is a scripted delta. The empty delta that carries a signature is not. */
export function isDelta(part: V4StreamPart): boolean {
  switch (part.type) {
    case "text-delta":
    case "tool-input-delta":
      return true;
    case "reasoning-delta":
      return part.providerMetadata === undefined;
    default:
      return false;
  }
}

export function finishOf(unified: CompleteAnswer["finishReason"]): V4FinishReason {
  return unified === "paused" ? { unified: "stop", raw: "pause_turn" } : { unified, raw: unified };
}

function streamPartsOfPart(part: AnswerPart, index: number): readonly V4StreamPart[] {
  const id = String(index);
  switch (part.type) {
    case "text":
      return [
        { type: "text-start", id },
        ...part.deltas.map((delta): V4StreamPart => ({ type: "text-delta", id, delta })),
        { type: "text-end", id, ...withMetadata(part.metadata) },
      ];
    case "thinking": {
      // Anthropic sends the signature in an empty delta. Other providers send it in the end part.
      const { anthropic, ...others } = part.metadata;
      const signature: V4StreamPart[] =
        anthropic === undefined ? [] : [{ type: "reasoning-delta", id, delta: "", ...withMetadata({ anthropic }) }];
      return [
        { type: "reasoning-start", id },
        ...part.deltas.map((delta): V4StreamPart => ({ type: "reasoning-delta", id, delta })),
        ...signature,
        { type: "reasoning-end", id, ...withMetadata(others) },
      ];
    }
    case "call":
      return [
        { type: "tool-input-start", id: part.id, toolName: part.name },
        ...part.deltas.map((delta): V4StreamPart => ({ type: "tool-input-delta", id: part.id, delta })),
        { type: "tool-input-end", id: part.id },
        toolCallContent(part),
      ];
    default:
      return part satisfies never;
  }
}

function toolCallContent(call: AnswerCallPart): V4ToolCall {
  const { id, name, metadata } = call;
  return {
    type: "tool-call",
    toolCallId: id,
    toolName: name,
    input: wholeText(call),
    ...withMetadata(metadata),
  };
}

function withMetadata(metadata: PartMetadata): { providerMetadata?: V4Metadata } {
  const owners = Object.entries(metadata);
  if (owners.length === 0) return {};
  return { providerMetadata: Object.fromEntries(owners.map(([owner, fields]) => [owner, thawObject(fields)])) };
}

/** The AI SDK recognizes its errors by these symbols, even across copies of the package. */
const MARKS = ["vercel.ai.error", "vercel.ai.error.AI_APICallError"].map((name) => Symbol.for(name));

/** Makes the error that AI SDK packages throw for an error response of a provider. */
export function apiError({ status, message = `Status ${status}.`, retryAfterMs }: ScriptedApiError): Error {
  const isRetryable = status === 408 || status === 409 || status === 429 || status >= 500;
  const error = Object.assign(new Error(message), {
    url: "https://scripted.invalid/",
    requestBodyValues: {},
    statusCode: status,
    isRetryable,
    responseHeaders: retryAfterMs === undefined ? {} : { "retry-after-ms": String(retryAfterMs) },
    responseBody: JSON.stringify({ error: { message } }),
    data: { error: { message } },
  });
  Object.defineProperty(error, "name", { value: "AI_APICallError" });
  for (const mark of MARKS) Object.defineProperty(error, mark, { value: true });
  return error;
}
