import type { ModelCallOptions, ProviderModel } from "../../../src/agent/definition/language-model.ts";
import { apiError } from "../../../src/scripted-model/answer.ts";
import type { Call, Step, Trouble } from "./story.ts";

/** What the model gets from the play: the step that it answers, and how this attempt fails. */
export interface StepAttempt {
  /** "2.0" is the first step of the second ask. */
  readonly name: string;
  readonly step: Step;
  readonly trouble: Trouble | undefined;
}

/** Waits until the play lets the step go on. */
type NextStep = (name: string, signal: AbortSignal | undefined) => Promise<StepAttempt>;

/** A model that finds its step in the prompt, so that a step has one answer, however often the model is called. */
export function storyModel(next: NextStep): ProviderModel {
  return {
    specificationVersion: "v4",
    provider: "story",
    modelId: "teller",
    async doGenerate({ prompt, abortSignal }: ModelCallOptions) {
      const { name, step, trouble } = await next(stepName(prompt), abortSignal);
      if (trouble !== undefined) throw errorOf(trouble);
      const content = partsOf(name, step).flatMap((part) => wholePart(part));
      return { content, finishReason: finishReasonOf(step), usage: USAGE };
    },
    async doStream({ prompt, abortSignal }: ModelCallOptions) {
      const { name, step, trouble } = await next(stepName(prompt), abortSignal);
      if (trouble !== undefined && !MIDWAY.has(trouble)) throw errorOf(trouble);
      const end = { type: "finish", finishReason: finishReasonOf(step), usage: USAGE };
      const parts: object[] = [{ type: "stream-start", warnings: [] }, ...partsOf(name, step)];
      const unread = trouble === undefined ? [...parts, end] : parts.slice(0, 3);
      const read = async () => {
        const value = unread.shift();
        if (value !== undefined) return { done: false, value };
        if (trouble === "hang_up") throw errorOf(trouble);
        if (trouble === "stall") return new Promise<never>(() => undefined);
        return { done: true };
      };
      return { stream: { getReader: () => ({ read, cancel: async () => undefined }) } };
    },
  };
}

/** Troubles that come after the first text of a stream. */
const MIDWAY: ReadonlySet<Trouble> = new Set<Trouble>(["cut", "hang_up", "stall"]);

const USAGE = {
  inputTokens: { total: 100, noCache: 90, cacheRead: 10, cacheWrite: 0 },
  outputTokens: { total: 10, text: 10, reasoning: 0 },
};

function errorOf(trouble: Trouble): Error {
  switch (trouble) {
    case "busy":
      return apiError({ status: 429, retryAfterMs: 100 });
    case "down":
      return apiError({ status: 503 });
    case "refused":
      return apiError({ status: 401, message: "invalid key" });
    case "too_long":
      return apiError({ status: 400, message: "prompt is too long: 9 > 8" });
    case "cut":
    case "hang_up":
    case "stall":
      return new Error("socket hang up");
    default:
      return trouble satisfies never;
  }
}

/** The last ask of the prompt, and the number of the step behind the last one that has an answer there. */
function stepName(prompt: readonly object[]): string {
  const texts = prompt.map((message) => JSON.stringify(message));
  const ask = texts.findLast((text) => /Ask \w+\./.test(text))?.match(/Ask (\w+)\./)?.[1] ?? "0";
  const answered = texts.join().matchAll(new RegExp(`step_${ask}_(\\d+)`, "g"));
  const last = Math.max(-1, ...[...answered].map(([, index]) => Number(index)));
  return `${ask}.${last + 1}`;
}

function partsOf(name: string, { answer, calls }: Step): object[] {
  const mark = `step_${name.replace(".", "_")}`;
  const words = answer === "long" ? "word ".repeat(400) : "Here it is.";
  const isEmpty = answer === "empty" || answer === "empty_by_length";
  const text = [
    { type: "text-start", id: "t" },
    { type: "text-delta", id: "t", delta: `${mark} ` },
    { type: "text-delta", id: "t", delta: words },
    { type: "text-end", id: "t" },
  ];
  return [...(isEmpty ? [] : text), ...calls.map((call, index) => callPart(call, `${mark}_${index}`))];
}

function callPart({ tool }: Call, toolCallId: string): object {
  const toolName = tool === "unknown" ? "teleport" : tool === "invalid" ? "look" : tool;
  return { type: "tool-call", toolCallId, toolName, input: tool === "invalid" ? '{"serial":' : "{}" };
}

/** The part of an answer that does not stream. */
function wholePart(part: object): object[] {
  const { type, delta } = part as { readonly type: string; readonly delta?: string }; // made above
  if (type === "text-delta") return [{ type: "text", text: delta }];
  return type === "tool-call" ? [part] : [];
}

function finishReasonOf({ answer, calls }: Step): object {
  const isCut = answer === "cut_by_length" || answer === "empty_by_length";
  const unified = isCut ? "length" : calls.length > 0 ? "tool-calls" : "stop";
  return { unified, raw: unified };
}
