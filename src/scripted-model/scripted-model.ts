import { type RuntimePorts, systemRuntimePorts } from "../runtime/ports.ts";
import { answerOf, type CompleteAnswer, contentOf, finishOf } from "./answer.ts";
import type { V4CallOptions, V4GenerateResult, V4StreamResult } from "./language-model.ts";
import { choose, ScriptMismatch, type ScriptOrder } from "./mismatch.ts";
import { requestOf, type ScriptedRequest } from "./request.ts";
import { invalidScript, type ScriptedStep, type Step, stepOf } from "./script.ts";
import { abortableTimer, type ResponseInfo, streamOf } from "./stream.ts";

/** The name of a scripted model, the order of its steps, and its timers. */
export interface ScriptedModelOptions {
  /** Default: "scripted". */
  readonly provider?: string | undefined;
  /** Default: "scripted-model". */
  readonly modelId?: string | undefined;
  /**
   * Default "strict": steps answer in order. "any": the first unused step that matches answers, for parallel requests.
   */
  readonly order?: ScriptOrder | undefined;
  /** The timer for all delays. Default: the system's timer. */
  readonly after?: RuntimePorts["after"] | undefined;
}

/** A language model of the AI SDK (specification v4) that calls no provider. */
export interface ScriptedModel {
  readonly specificationVersion: "v4";
  readonly provider: string;
  readonly modelId: string;
  readonly supportedUrls: Record<string, RegExp[]>;
  doGenerate(options: V4CallOptions): Promise<V4GenerateResult>;
  doStream(options: V4CallOptions): Promise<V4StreamResult>;
  /** All requests so far, in order, including those without a matching step. */
  readonly requests: readonly ScriptedRequest[];
  /**
   * Throws the first mismatch, even if the code under test caught it. Without a mismatch, throws `script_incomplete` if steps
   * are unused.
   */
  assertComplete(): void;
}

/**
 * A model that answers from a script and checks the requests that it gets. Use it in an agent or in any function of the AI
 * SDK.
 *
 * @example
 * const model = scriptedModel([
 *   { expect: "What's 2+2?", calls: [{ name: "add", arguments: { a: 2, b: 2 } }] },
 *   { expect: { endsWith: [{ results: [{ name: "add", value: 4 }] }] }, text: "4" },
 * ]);
 */
export function scriptedModel(script: readonly ScriptedStep[], options: ScriptedModelOptions = {}): ScriptedModel {
  const {
    provider = "scripted",
    modelId = "scripted-model",
    order = "strict",
    after = systemRuntimePorts.after,
  } = options;
  if (order !== "strict" && order !== "any") throw invalidScript('order is neither "strict" nor "any"');
  if (!Array.isArray(script)) throw invalidScript("it is not a list of steps");
  const steps = script.map(stepOf);
  const used = new Set<Step>();
  const requests: ScriptedRequest[] = [];
  const wrong: unknown[] = [];
  let calls = 0;

  function take(request: ScriptedRequest): Step {
    const unused = steps.filter((step) => !used.has(step));
    const step = choose(unused, steps.length, order, request);
    if (step instanceof ScriptMismatch) {
      wrong.push(step);
      throw step;
    }
    used.add(step);
    return step;
  }

  async function answerOfStep(step: Step, request: ScriptedRequest): Promise<CompleteAnswer> {
    try {
      return answerOf(await step.answer(request), request, () => `call_${++calls}`);
    } catch (error) {
      wrong.push(error); // an assertion that fails inside a step counts as a mismatch
      throw error;
    }
  }

  /** Runs synchronously up to the first await, so that requests get their steps in order of arrival. */
  async function ask(given: V4CallOptions, streaming: boolean) {
    const { abortSignal } = given;
    abortSignal?.throwIfAborted();
    const request = requestOf(given, requests.length + 1, streaming);
    requests.push(request);
    const timer = abortableTimer(after, abortSignal);
    const step = take(request);
    const answer = await timer.race(answerOfStep(step, request));
    const response: ResponseInfo = { id: `response_${request.number}`, modelId };
    return { answer, timer, response };
  }

  return {
    specificationVersion: "v4",
    provider,
    modelId,
    supportedUrls: {},
    get requests() {
      return Object.freeze([...requests]);
    },
    doGenerate: async (given) => {
      const { answer, timer, response } = await ask(given, false);
      await timer.wait(answer.delayMs);
      if (answer.failure !== undefined) throw answer.failure.error;
      if (answer.hang) await timer.hang();
      const { usage, finishReason } = answer;
      return { content: contentOf(answer), finishReason: finishOf(finishReason), usage, response, warnings: [] };
    },
    doStream: async (given) => {
      const { answer, timer, response } = await ask(given, true);
      if (answer.failure !== undefined && answer.failure.after === undefined) {
        await timer.wait(answer.delayMs);
        throw answer.failure.error;
      }
      return { stream: streamOf(answer, response, after, given.abortSignal) };
    },
    assertComplete: () => {
      if (wrong.length > 0) throw wrong[0];
      const left = steps.filter((step) => !used.has(step));
      if (left.length > 0) throw incomplete(left, steps.length, requests.length);
    },
  };
}

function incomplete(left: readonly Step[], total: number, asked: number): ScriptMismatch {
  const numbers = left.map(({ number }) => number).join(", ");
  const steps = left.length === 1 ? `step ${numbers}` : `steps ${numbers}`;
  return new ScriptMismatch({
    code: "script_incomplete",
    message: `The model was asked ${asked === 1 ? "once" : `${asked} times`}, and ${steps} of ${total} stayed unused. Remove what is not needed, or find out why it was not asked for.`,
  });
}
