import type { RuntimePorts } from "../runtime/ports.ts";
import { type CompleteAnswer, finishOf, isDelta, streamPartsOf } from "./answer.ts";
import type { V4StreamPart } from "./language-model.ts";

export interface ResponseInfo {
  readonly id: string;
  readonly modelId: string;
}

/** Makes a stream that sends the answer as it is read. An abort fails it with the abort reason. */
export function streamOf(
  answer: CompleteAnswer,
  response: ResponseInfo,
  after: RuntimePorts["after"],
  signal: AbortSignal | undefined,
): ReadableStream<V4StreamPart> {
  const canceled = new AbortController();
  const ended = signal === undefined ? canceled.signal : AbortSignal.any([signal, canceled.signal]);
  const parts = timedPartsOf(answer, response, abortableTimer(after, ended));
  return new ReadableStream<V4StreamPart>(
    {
      start: (controller) => ended.addEventListener("abort", () => controller.error(ended.reason), { once: true }),
      pull: async (controller) => {
        try {
          const next = await parts.next();
          if (next.done) controller.close();
          else controller.enqueue(next.value);
        } catch (error) {
          controller.error(error); // has no effect after an abort
        }
      },
      cancel: () => canceled.abort(), // ends a pending wait for the next part
    },
    { highWaterMark: 0 },
  );
}

async function* timedPartsOf(
  answer: CompleteAnswer,
  response: ResponseInfo,
  timer: AbortableTimer,
): AsyncGenerator<V4StreamPart, void, void> {
  const { usage, failure, finishReason } = answer;
  yield { type: "stream-start", warnings: [] };
  yield { type: "response-metadata", ...response };
  await timer.wait(answer.delayMs);
  let deltas = 0;
  if (failure?.after !== 0) {
    for (const part of streamPartsOf(answer)) {
      if (isDelta(part) && deltas++ > 0) await timer.wait(answer.deltaDelayMs);
      yield part;
      if (isDelta(part) && deltas === failure?.after) break;
    }
  }
  if (failure !== undefined) {
    if (!failure.isResponse) throw failure.error;
    yield { type: "error", error: failure.error };
  }
  if (answer.hang) await timer.hang();
  yield { type: "finish", usage, finishReason: finishOf(failure === undefined ? finishReason : "error") };
}

/** Timers that reject with the abort reason. */
interface AbortableTimer {
  readonly wait: (ms: number) => Promise<void>;
  /** Waits until the abort, or forever if there is none. */
  readonly hang: () => Promise<never>;
  /** Returns the result of the work, unless the abort comes first. */
  readonly race: <Value>(work: Promise<Value>) => Promise<Value>;
}

export function abortableTimer(after: RuntimePorts["after"], signal: AbortSignal | undefined): AbortableTimer {
  /** Makes a promise from `start`, which returns a function that cancels the work. */
  function until<Value>(start: (resolve: (value: Value) => void, reject: (error: unknown) => void) => () => void) {
    return new Promise<Value>((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      let cancelWork: (() => void) | undefined;
      const aborted = () => {
        cancelWork?.();
        reject(signal?.reason);
      };
      const settled = () => signal?.removeEventListener("abort", aborted);
      signal?.addEventListener("abort", aborted, { once: true });
      cancelWork = start(
        (value) => {
          settled();
          resolve(value);
        },
        (error) => {
          settled();
          reject(error);
        },
      );
    });
  }

  return {
    wait: async (ms) => {
      if (ms > 0) await until<void>((resolve) => after(ms, () => resolve()));
    },
    hang: () => until<never>(() => () => {}),
    race: (work) =>
      until((resolve, reject) => {
        work.then(resolve, reject);
        return () => {};
      }),
  };
}
