import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { Message } from "heddle";
import { toAISDKPrompt } from "heddle/providers";
import type { ScriptedModel, ScriptMismatch } from "heddle/testing";

export type Options = Omit<LanguageModelV4CallOptions, "prompt">;

/** Asks as an agent does: of neutral messages, or of what a user says. */
export function asked(said: string | readonly Message[], options: Options = {}): LanguageModelV4CallOptions {
  return { prompt: toAISDKPrompt(typeof said === "string" ? [{ role: "user", content: said }] : said), ...options };
}

export async function generated(model: LanguageModelV4, said: string | readonly Message[] = "hi", options?: Options) {
  return await model.doGenerate(asked(said, options));
}

export async function streamed(
  model: LanguageModelV4,
  said: string | readonly Message[] = "hi",
  options?: Options,
): Promise<LanguageModelV4StreamPart[]> {
  const { stream } = await model.doStream(asked(said, options));
  return await Array.fromAsync(stream);
}

/** The parts without the frame that every stream has. */
export function inner(parts: readonly LanguageModelV4StreamPart[]): readonly LanguageModelV4StreamPart[] {
  return parts.filter(({ type }) => type !== "stream-start" && type !== "response-metadata" && type !== "finish");
}

/** What the attempt ended with; a success is none. */
export async function failureOf(attempt: Promise<unknown>): Promise<unknown> {
  return await attempt.then(
    (value) => {
      throw new Error(`Expected a failure, got ${JSON.stringify(value)}`);
    },
    (error: unknown) => error,
  );
}

export async function mismatchOf(attempt: Promise<unknown>): Promise<ScriptMismatch> {
  return (await failureOf(attempt)) as ScriptMismatch; // each test looks at its code
}

export function completion(model: ScriptedModel): unknown {
  try {
    return model.assertComplete();
  } catch (error) {
    return error;
  }
}

/** Lets everything that needs no timer happen. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await Promise.resolve();
}

/** A timer that a test moves by hand. */
export class Hand {
  readonly waits: number[] = [];
  readonly #runs: (() => void)[] = [];
  calledOff = 0;

  readonly after = (ms: number, run: () => void): (() => void) => {
    this.waits.push(ms);
    this.#runs.push(run);
    return () => {
      this.calledOff++;
    };
  };

  /** Ends the oldest wait. */
  async move(): Promise<void> {
    this.#runs.shift()?.();
    await settle();
  }
}
