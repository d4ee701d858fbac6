import { setImmediate as turn } from "node:timers/promises";
import { ANSWER, TOOL } from "./conversation.ts";

const USAGE = {
  inputTokens: { total: 100, noCache: 100, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 100, text: 100, reasoning: 0 },
};

/** The prompts of the bench models, to check that they contain the conversation. */
export interface Seen {
  /** The number of messages in the last prompt, without system messages. */
  messages: number;
}

interface Prompted {
  readonly prompt: readonly object[];
}

/**
 * A LanguageModelV4 that answers at once with text, or first with calls of the tool. So the measured time is that of
 * the agent.
 */
export function instantModel(usesTool: boolean, seen: Seen, callsInAnswer = 1) {
  let calls = 0;
  const look = ({ prompt }: Prompted): boolean => {
    const roles = prompt.map((message) => Reflect.get(message, "role"));
    seen.messages = roles.filter((role) => role !== "system").length;
    return usesTool && roles.at(-1) !== "tool";
  };
  const toolCall = () => ({
    type: "tool-call",
    toolCallId: `call_${calls++}`,
    toolName: TOOL.name,
    input: JSON.stringify(TOOL.input),
  });
  const toolCalls = () => Array.from({ length: callsInAnswer }, toolCall);
  const finish = (unified: string) => ({ usage: USAGE, finishReason: { unified, raw: unified } });
  return {
    specificationVersion: "v4" as const,
    provider: "bench",
    modelId: "instant",
    supportedUrls: {},
    async doGenerate(options: Prompted) {
      const content = look(options) ? toolCalls() : [{ type: "text", text: ANSWER }];
      return { content, ...finish(content[0]?.type === "text" ? "stop" : "tool-calls"), warnings: [] };
    },
    async doStream(options: Prompted) {
      const said = look(options)
        ? [...toolCalls(), { type: "finish", ...finish("tool-calls") }]
        : [
            { type: "text-start", id: "0" },
            { type: "text-delta", id: "0", delta: ANSWER },
            { type: "text-end", id: "0" },
            { type: "finish", ...finish("stop") },
          ];
      return { stream: streamOf([{ type: "stream-start", warnings: [] }, ...said]) };
    },
  };
}

function streamOf(parts: readonly object[]): ReadableStream<object> {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
}

/** A model whose answer comes in so many parts, a few in each turn of the event loop. */
export function wordyModel(deltas: number) {
  return {
    ...instantModel(false, { messages: 0 }),
    async doStream() {
      return { stream: ReadableStream.from(wordsOf(deltas)) };
    },
  };
}

async function* wordsOf(deltas: number): AsyncGenerator<object, void> {
  yield { type: "text-start", id: "0" };
  for (let index = 0; index < deltas; index += 1) {
    if (index % 8 === 0) await turn();
    yield { type: "text-delta", id: "0", delta: `word ${index} ` };
  }
  yield { type: "text-end", id: "0" };
  yield { type: "finish", usage: USAGE, finishReason: { unified: "stop", raw: "stop" } };
}
