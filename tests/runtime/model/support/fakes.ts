import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import type { ProviderModel } from "../../../../src/agent/definition/language-model.ts";
import type { ModelCall } from "../../../../src/runtime/model/call.ts";
import { ModelError } from "../../../../src/runtime/model/failure.ts";
import type { RuntimePorts } from "../../../../src/runtime/ports.ts";

export type Version = ProviderModel["specificationVersion"];
type Part = { readonly type: string; readonly [field: string]: unknown };

export const finish: Part = {
  type: "finish",
  finishReason: { unified: "stop", raw: "stop" },
  usage: {
    inputTokens: { total: 10, noCache: 7, cacheRead: 2, cacheWrite: 1 },
    outputTokens: { total: 5, text: 3, reasoning: 2 },
  },
};

export function text(id: string, ...deltas: readonly string[]): readonly Part[] {
  return [
    { type: "text-start", id },
    ...deltas.map((delta) => ({ type: "text-delta", id, delta })),
    { type: "text-end", id },
  ];
}

/** A model that sends these parts, and keeps the options of each call. */
interface Fake extends ProviderModel {
  readonly calls: LanguageModelV4CallOptions[];
}

interface FakeOptions {
  readonly version?: Version;
  readonly provider?: string;
  readonly modelId?: string;
}

/** `script` says for each call what comes: parts, a stream, or an error that is thrown. */
export function fake(
  script: (call: number, options: LanguageModelV4CallOptions) => readonly unknown[] | ReadableStream<unknown>,
  { version = "v4", provider = "test.chat", modelId = "m-1" }: FakeOptions = {},
): Fake {
  const calls: LanguageModelV4CallOptions[] = [];
  return {
    specificationVersion: version,
    provider,
    modelId,
    calls,
    doGenerate: async (options) => {
      calls.push(options as LanguageModelV4CallOptions); // V4's are what this room makes, with less for older ones
      const parts = script(calls.length, calls.at(-1) as LanguageModelV4CallOptions) as readonly Part[];
      const end = parts.find(({ type }) => type === "finish") ?? finish;
      return {
        content: parts.filter(({ type }) => type !== "finish"),
        finishReason: end["finishReason"],
        usage: end["usage"],
      };
    },
    doStream: async (options) => {
      calls.push(options as LanguageModelV4CallOptions);
      const said = script(calls.length, calls.at(-1) as LanguageModelV4CallOptions);
      return { stream: said instanceof ReadableStream ? said : streamOf(said) };
    },
  };
}

export function says(parts: readonly unknown[], options: FakeOptions = {}): Fake {
  return fake(() => parts, options);
}

export function streamOf(parts: readonly unknown[]): ReadableStream<unknown> {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
}

/** Sends these parts and then nothing more, whatever happens. */
export function stuckAfter(
  parts: readonly unknown[],
  cancelled: (reason: unknown) => void = () => {},
): ReadableStream<unknown> {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
    },
    cancel: cancelled,
  });
}

/** Time that stands still until it is told to go on. */
interface FakeTime extends RuntimePorts {
  readonly waits: () => readonly number[];
  readonly pass: (ms: number) => Promise<void>;
}

export function fakeTime(random = 0): FakeTime {
  let now = 1_000_000;
  let timers: { readonly at: number; readonly ms: number; readonly run: () => void }[] = [];
  return {
    clock: () => now,
    monotonic: () => now,
    ids: (prefix) => `${prefix}_1`,
    random: () => random,
    after: (ms, run) => {
      const timer = { at: now + ms, ms, run };
      timers.push(timer);
      return () => {
        timers = timers.filter((other) => other !== timer);
      };
    },
    waits: () => timers.map(({ ms }) => ms),
    pass: async (ms) => {
      await settled();
      now += ms;
      const due = timers.filter(({ at }) => at <= now);
      timers = timers.filter(({ at }) => at > now);
      for (const { run } of due) run();
      await settled();
    },
  };
}

/** Lets everything that is ready run. */
export async function settled(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

export function callOf(model: ProviderModel, more: Partial<ModelCall> = {}): ModelCall {
  return { model, messages: [{ role: "user", content: "Hi" }], ports: fakeTime(), ...more };
}

export async function modelErrorOf(promise: Promise<unknown>): Promise<ModelError> {
  const error: unknown = await promise.then(
    () => new Error("it did not reject"),
    (error: unknown) => error,
  );
  if (!ModelError.isInstance(error)) throw error;
  return error;
}
