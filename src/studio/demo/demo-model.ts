import { type RuntimePorts, systemRuntimePorts } from "../../runtime/ports.ts";
import { answerOf } from "../../testing/scripted-model/answer.ts";
import type { V4CallOptions, V4GenerateResult, V4StreamResult } from "../../testing/scripted-model/language-model.ts";
import { contentOf, finishOf } from "../../testing/scripted-model/output.ts";
import { requestOf, type ScriptedRequest } from "../../testing/scripted-model/request.ts";
import type { ScriptedAnswer } from "../../testing/scripted-model/script.ts";
import { streamOf } from "../../testing/scripted-model/stream.ts";
import { demoAnswer } from "./talk.ts";

export const DEMO = { provider: "heddle-demo", modelId: "offline-demo" } as const;

/** An answer takes no longer than so many words would. */
const MOST_WORDS = 100;

export interface DemoOptions {
  /** Between two words of an answer of up to a hundred. Default 24; 0 says everything at once. */
  readonly wordMs?: number | undefined;
  readonly ports?: Partial<RuntimePorts> | undefined;
}

/**
 * A model that asks nobody: what it says follows from what it is sent, by a handful of rules. It says of itself that it is a
 * demo.
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

/** What a real model would be likely to report: prompt and tools, four characters to a token. */
function tokensOf({ prompt, tools = [] }: V4CallOptions): number {
  return Math.ceil(JSON.stringify([prompt, tools]).length / 4);
}

/** Word by word, as a model speaks; a long answer faster, so that nobody waits for the end of a demo. */
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

/** The calls of a conversation are numbered, and what has left the window does not make a number come back. */
function callIds({ messages }: ScriptedRequest): () => string {
  const numbers = messages.flatMap(({ calls = [] }) => calls.map(({ id }) => Number(/(\d+)$/.exec(id)?.[1] ?? 0)));
  let last = Math.max(0, ...numbers);
  return () => `call_${++last}`;
}
