import { type AnyAgent, defineAgent, type ThreadStore } from "heddle";
import { postgresStore } from "heddle/postgres";
import { sqliteStore } from "heddle/sqlite";

const WORDS = 2_000;
const WORD_MS = 5;

const USAGE = {
  inputTokens: { total: 100, noCache: 100, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 100, text: 100, reasoning: 0 },
};

interface Asked {
  readonly prompt: readonly { readonly role: string; readonly content: unknown }[];
  readonly abortSignal?: AbortSignal;
}

/** The model calls that run in this process. */
export const modelCalls = { now: 0, most: 0 };

/** Answers at once, or to "slow" after 20 ms. To "pay" it calls the tool that needs an approval, and to "talk" it streams words for ten seconds. */
function model() {
  return {
    specificationVersion: "v4" as const,
    provider: "bench",
    modelId: "nodes",
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("The bench streams.")),
    doStream: async ({ prompt, abortSignal }: Asked) => {
      const asked = JSON.stringify(prompt.findLast(({ role }) => role === "user")?.content ?? "");
      const hasResult = prompt.at(-1)?.role === "tool";
      const parts: Iterable<object> | AsyncIterable<object> =
        asked.includes("pay") && !hasResult ? paying() : talking(asked.includes("talk") ? WORDS : 1, abortSignal);
      return { stream: ReadableStream.from<object>(counted(parts, asked.includes("slow") ? 20 : 0)) };
    },
  };
}

async function* counted(parts: Iterable<object> | AsyncIterable<object>, delayMs: number) {
  modelCalls.most = Math.max(modelCalls.most, ++modelCalls.now);
  try {
    if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
    yield* parts;
  } finally {
    modelCalls.now--;
  }
}

function* paying() {
  yield { type: "stream-start", warnings: [] };
  yield { type: "tool-call", toolCallId: "call_1", toolName: "pay", input: "{}" };
  yield { type: "finish", usage: USAGE, finishReason: { unified: "tool-calls", raw: "tool-calls" } };
}

async function* talking(words: number, signal: AbortSignal | undefined) {
  yield { type: "stream-start", warnings: [] };
  yield { type: "text-start", id: "0" };
  for (let word = 0; word < words && !signal?.aborted; word++) {
    yield { type: "text-delta", id: "0", delta: "word " };
    if (words > 1) await new Promise((resolve) => setTimeout(resolve, WORD_MS));
  }
  yield { type: "text-end", id: "0" };
  yield { type: "finish", usage: USAGE, finishReason: { unified: "stop", raw: "stop" } };
}

/** The agent of both processes. */
export function agent(): AnyAgent {
  const pay = { inputSchema: { type: "object" }, needsApproval: true, execute: () => "paid" };
  return defineAgent({ model: model(), tools: { pay }, contextPolicy: { maxInputTokens: 8000 } } as never) as AnyAgent; // its types do not matter here
}

export function storeOf(url: string): ThreadStore {
  return url.startsWith("postgres") ? postgresStore(url) : sqliteStore(url);
}
