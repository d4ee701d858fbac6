import type { RuntimePorts } from "../../runtime/ports.ts";
import type { Answer } from "./answer.ts";
import type { V4StreamPart } from "./language-model.ts";
import { finishOf, isDelta, streamPartsOf } from "./output.ts";
import { type Pace, paceOf } from "./pace.ts";

export interface Response {
  readonly id: string;
  readonly modelId: string;
}

/** The answer as a lazy stream, which errors with the abort reason. */
export function streamOf(
  answer: Answer,
  response: Response,
  after: RuntimePorts["after"],
  signal: AbortSignal | undefined,
): ReadableStream<V4StreamPart> {
  const left = new AbortController();
  const ended = signal === undefined ? left.signal : AbortSignal.any([signal, left.signal]);
  const parts = partsOf(answer, response, paceOf(after, ended));
  return new ReadableStream<V4StreamPart>(
    {
      start: (controller) => ended.addEventListener("abort", () => controller.error(ended.reason), { once: true }),
      pull: async (controller) => {
        try {
          const next = await parts.next();
          if (next.done) controller.close();
          else controller.enqueue(next.value);
        } catch (error) {
          controller.error(error); // no effect after an abort
        }
      },
      cancel: () => left.abort(), // ends a pending wait for the next part
    },
    { highWaterMark: 0 },
  );
}

async function* partsOf(answer: Answer, response: Response, pace: Pace): AsyncGenerator<V4StreamPart, void, void> {
  const { usage, failure, finishReason } = answer;
  yield { type: "stream-start", warnings: [] };
  yield { type: "response-metadata", ...response };
  await pace.wait(answer.delayMs);
  let deltas = 0;
  if (failure?.after !== 0) {
    for (const part of streamPartsOf(answer)) {
      if (isDelta(part) && deltas++ > 0) await pace.wait(answer.deltaDelayMs);
      yield part;
      if (isDelta(part) && deltas === failure?.after) break;
    }
  }
  if (failure !== undefined) {
    if (!failure.reported) throw failure.error;
    yield { type: "error", error: failure.error };
  }
  if (answer.hang) await pace.hang();
  yield { type: "finish", usage, finishReason: finishOf(failure === undefined ? finishReason : "error") };
}
