import { readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import { readUIMessageStream as readUIMessageStream6 } from "ai-v6";
import {
  type AgentConfig,
  type AgentRequest,
  AgentServer,
  type AnyAgent,
  defineAgent,
  memoryStore,
  type ThreadStore,
  type Tools,
} from "heddle";
import {
  type ChatTurn,
  toUIMessages,
  type UIChunk,
  type UIChunk6,
  type UIStreamOptions,
  uiMessageStream,
} from "heddle/ai-sdk";
import { type ScriptedStep, scriptedModel } from "heddle/testing";

export const anything = { type: "object" } as const;

export interface Chat {
  readonly server: AgentServer;
  readonly store: ThreadStore;
}

type Config = Partial<AgentConfig<Tools, never>>;

export function agentOf(script: readonly ScriptedStep[], config: Config = {}): AnyAgent {
  return defineAgent({ model: scriptedModel(script), modelMaxRetries: 0, ...config } as AgentConfig) as AnyAgent; // its types do not matter here
}

export async function chat(script: readonly ScriptedStep[], config: Config = {}): Promise<Chat> {
  const store = memoryStore();
  const warn = (): void => undefined;
  return {
    store,
    server: await AgentServer.start({ agent: agentOf(script, config), store, threadId: "thread_c", warn }),
  };
}

/** What the AI SDK makes of a stream: the message, with what it complained of. */
export async function readBySdk(
  stream: ReadableStream<UIChunk>,
  message?: UIMessage,
): Promise<{ readonly message: UIMessage; readonly errors: readonly string[] }> {
  const errors: string[] = [];
  let last = message;
  const read = readUIMessageStream({
    stream: stream as ReadableStream<UIMessageChunk>,
    ...(message !== undefined && { message }),
    onError: (error) => errors.push((error as Error).message),
  });
  for await (const one of read) last = one;
  if (last === undefined) throw new Error("The stream held no message.");
  return { message: plain(last), errors };
}

/** What AI SDK 6 makes of a stream. */
export async function readBySdk6(
  stream: ReadableStream<UIChunk6>,
): Promise<{ readonly parts: readonly unknown[]; readonly errors: readonly string[] }> {
  const errors: string[] = [];
  const read = readUIMessageStream6({ stream, onError: (error) => errors.push((error as Error).message) });
  let parts: readonly unknown[] = [];
  for await (const message of read) parts = JSON.parse(JSON.stringify(message.parts)) as unknown[];
  return { parts, errors };
}

/** As JSON has it, without the ids that the SDK gives to thinking. */
function plain(message: UIMessage): UIMessage {
  const copy = JSON.parse(JSON.stringify(message)) as UIMessage;
  for (const part of copy.parts) if (part.type === "reasoning") delete part.id;
  return copy;
}

export async function chunksIn(stream: ReadableStream<UIChunk>): Promise<readonly UIChunk[]> {
  const chunks: UIChunk[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

/** The chunks of what `chatTurn` returns. */
export async function chunksOf({ request, ...turn }: ChatTurn): Promise<readonly UIChunk[]> {
  return chunksIn(uiMessageStream(request, turn));
}

export async function streamed(request: AgentRequest, options?: UIStreamOptions) {
  return readBySdk(uiMessageStream(request, options));
}

/** The last message as the log tells it; metadata of providers is not streamed. */
export async function logged(store: ThreadStore): Promise<UIMessage> {
  const thread = await store.load("thread_c");
  const message = thread && toUIMessages(thread).at(-1);
  if (message === undefined) throw new Error("There is no message.");
  return plain(message as UIMessage);
}

export function textOf({ parts }: UIMessage): string {
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
}
