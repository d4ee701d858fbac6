import type { ModelFinishReason, Usage } from "../../../agent/model-call.ts";
import type { FileContentPart } from "../../../thread/message.ts";
import { fieldsIn, type RawPart } from "../raw-part.ts";
import { base64Of } from "./bytes.ts";
import type { ModelSpec, PromptMessage } from "./spec.ts";

/** AI SDK 7. */
export const v4: ModelSpec = {
  prompt: (messages: readonly PromptMessage[]) => [...messages],
  fileData: ({ data }: RawPart) => {
    const { type, data: bytes, url } = fieldsIn(data);
    return type === "url" ? urlData(url) : bytesData(bytes ?? data);
  },
  usage: groupedUsage,
  finishReason: (value) => finishReasonOf(fieldsIn(value)["unified"] ?? value),
  takesReasoning: true,
};

export function bytesData(data: unknown): FileContentPart["data"] | undefined {
  if (data instanceof Uint8Array) return { base64: base64Of(data) };
  return typeof data === "string" && data !== "" ? { base64: data.toWellFormed() } : undefined;
}

function urlData(url: unknown): FileContentPart["data"] | undefined {
  const text = url instanceof URL ? url.href : url;
  return typeof text === "string" && URL.canParse(text) ? { url: text } : undefined;
}

/** Usage since V3: input and output, each in parts. Packages leave out what they do not know, also the totals. */
function groupedUsage(value: unknown): Usage {
  const usage = fieldsIn(value);
  const input = fieldsIn(usage["inputTokens"]);
  const output = fieldsIn(usage["outputTokens"]);
  return known({
    inputTokens: count(input["total"]) ?? sum(input["noCache"], input["cacheRead"], input["cacheWrite"]),
    outputTokens: count(output["total"]) ?? sum(output["text"], output["reasoning"]),
    cacheReadTokens: count(input["cacheRead"]),
    cacheWriteTokens: count(input["cacheWrite"]),
    reasoningTokens: count(output["reasoning"]),
  });
}

export function count(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;
}

export function known(usage: { readonly [Key in keyof Usage]: number | undefined }): Usage {
  return Object.fromEntries(Object.entries(usage).filter(([, tokens]) => tokens !== undefined));
}

function sum(...values: readonly unknown[]): number | undefined {
  const counts = values.map(count).filter((tokens) => tokens !== undefined);
  return counts.length === 0 ? undefined : counts.reduce((a, b) => a + b);
}

const FINISH_REASONS: ReadonlySet<unknown> = new Set<ModelFinishReason>([
  "stop",
  "length",
  "content-filter",
  "tool-calls",
  "error",
  "interrupted",
  "other",
]);

export function finishReasonOf(value: unknown): ModelFinishReason {
  return isFinishReason(value) ? value : "other";
}

function isFinishReason(value: unknown): value is ModelFinishReason {
  return FINISH_REASONS.has(value);
}
