import { type RuntimePorts, systemRuntimePorts } from "../../runtime/ports.ts";
import { answerOf } from "../../testing/scripted-model/answer.ts";
import type { V4CallOptions, V4GenerateResult, V4StreamResult } from "../../testing/scripted-model/language-model.ts";
import { contentOf, finishOf } from "../../testing/scripted-model/output.ts";
import { requestOf, type ScriptedRequest } from "../../testing/scripted-model/request.ts";
import type { ScriptedAnswer } from "../../testing/scripted-model/script.ts";
import { streamOf } from "../../testing/scripted-model/stream.ts";
import { demoAnswer } from "./talk.ts";

export const DEMO = { provider: "heddle-demo", modelId: "offline-demo" } as const;

/** The number of words after which an answer is sent faster, so that it takes no longer. */
const MOST_WORDS = 100;

export interface DemoOptions {
  /** Milliseconds between two words of an answer of up to a hundred words. Default 24; with 0 the answer comes at once. */
  readonly wordMs?: number | undefined;
  readonly ports?: Partial<RuntimePorts> | undefined;
}

/**
 * A model that works offline: a few rules derive the answer from the messages. Asked who it is, it says that it is a demo.
 *
 * @example
 * const agent = defineAgent({ model: demoModel({ wordMs: 0 }) });
 * const server = await AgentServer.start({ agent, store: memoryStore() });
 * const { text } = await (await server.ask("Who are you?")).result;
 * console.log(text.startsWith("I am Heddle's offline demo")); // true
 * await server.stop();
 */
export function demoModel({ wordMs = 24, ports }: DemoOptions = {}) {
  const after = ports?.after ?? systemRuntimePorts.after;
  const ask = (given: V4CallOptions, streaming: boolean) => {
    given.abortSignal?.throwIfAborted();
    const request = requestOf(given, 1, streaming);
    const usage = { inputTokens: tokensOf(given) };
    return answerOf(paced({ ...demoAnswer(request), usage }, wordMs), request, callIds(request));
  };
  const response = { id: "demo", modelId: DEMO.modelId };
  return {
    specificationVersion: "v4" as const,
    ...DEMO,
    supportedUrls: {} as Record<string, RegExp[]>,
    doGenerate: async (given: V4CallOptions): Promise<V4GenerateResult> => {
      const answer = ask(given, false);
      const { usage, finishReason } = answer;
      return { content: contentOf(answer), finishReason: finishOf(finishReason), usage, response, warnings: [] };
    },
    doStream: async (given: V4CallOptions): Promise<V4StreamResult> => {
      return { stream: streamOf(ask(given, true), response, after, given.abortSignal) };
    },
  };
}

/** Simulated token usage: the characters of prompt and tools, divided by four. */
function tokensOf({ prompt, tools = [] }: V4CallOptions): number {
  return Math.ceil(JSON.stringify([prompt, tools]).length / 4);
}

/** Sends the answer word by word, as a model does. A long answer is sent faster. */
function paced(answer: ScriptedAnswer, wordMs: number): ScriptedAnswer {
  const [text, thinking] = [answer.text, answer.thinking].map((said) =>
    typeof said === "string" ? wordsOf(said) : said,
  );
  const words = (text?.length ?? 0) + (thinking?.length ?? 0);
  return {
    ...answer,
    delayMs: wordMs * 8,
    deltaDelayMs: words <= MOST_WORDS ? wordMs : (wordMs * MOST_WORDS) / words,
    ...(text !== undefined && { text }),
    ...(thinking !== undefined && { thinking }),
  };
}

function wordsOf(text: string): readonly string[] {
  return text.match(/\s*\S+\s*$|\s*\S+/g) ?? [text];
}

/** Numbers the calls of a conversation. A number is not used twice, also if older calls have left the window. */
function callIds({ messages }: ScriptedRequest): () => string {
  const numbers = messages.flatMap(({ calls = [] }) => calls.map(({ id }) => Number(/(\d+)$/.exec(id)?.[1] ?? 0)));
  let last = Math.max(0, ...numbers);
  return () => `call_${++last}`;
}
