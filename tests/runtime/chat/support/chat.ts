import { DefaultChatTransport, readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import { AgentHost, memoryStore, type ThreadStore, type Tools } from "heddle";
import { type ChatHandlerOptions, chatHandler } from "heddle/ai-sdk";
import type { ScriptedStep } from "heddle/testing";
import { expect, onTestFinished } from "vitest";
import { agentOf, anything } from "../../ui-messages/chat.ts";

const api = "http://localhost/api/chat";

type Options = Partial<ChatHandlerOptions> & {
  readonly script?: readonly ScriptedStep[];
  readonly store?: ThreadStore;
  readonly more?: Tools;
  readonly accept?: () => string;
};

/** A chat, and the SDK's own transport to it. */
export function chatOn({
  script = ["4", "5", "6"],
  store = memoryStore(),
  more = {},
  accept,
  ...options
}: Options = {}) {
  const look = { inputSchema: anything, repeatable: true, execute: () => "found" };
  const tools = {
    look,
    pay: { inputSchema: anything, needsApproval: true, execute: () => "paid" },
    locate: { inputSchema: anything },
    ...more,
  };
  const host = AgentHost.create({ agent: agentOf(script, { tools, accept }), store, warn: () => undefined });
  onTestFinished(() => host.stop());
  const handler = chatHandler({ host, authorize: () => ({ owner: "ada" }), ...options });
  const fetch = async (url: string | URL | Request, init?: RequestInit) => handler(new Request(url, init));
  const transport = new DefaultChatTransport<UIMessage>({ api, fetch });
  const get = (path: string, init?: RequestInit) => fetch(`${api}/${path}`, init);
  const post = (path: string, body: object, headers: Record<string, string> = {}) =>
    get(path, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json", ...headers },
    });
  return { host, store, transport, get, post };
}

type Chat = ReturnType<typeof chatOn>;

export function user(id: string, text: string): UIMessage {
  return { id, role: "user", parts: [{ type: "text", text }] };
}

export async function last(stream: ReadableStream<UIMessageChunk> | null): Promise<UIMessage | undefined> {
  let message: UIMessage | undefined;
  if (stream !== null) for await (const one of readUIMessageStream({ stream })) message = one;
  return message;
}

/** Sends as `useChat` does. */
export async function send(
  { transport }: Chat,
  messages: UIMessage[],
  more: object = {},
): Promise<UIMessage | undefined> {
  const submit = { trigger: "submit-message" as const, messageId: undefined };
  return last(await transport.sendMessages({ chatId: "t", messages, abortSignal: undefined, ...submit, ...more }));
}

export interface Shown {
  readonly messages: readonly UIMessage[];
  readonly siblings: object;
  readonly status: string | null;
}

export async function shown({ get }: Chat): Promise<{ texts: string; siblings: object; status: string | null }> {
  const page = (await (await get("t/messages")).json()) as Shown;
  const { messages, siblings, status } = page;
  return { texts: messages.map(textOf).join(" "), siblings, status };
}

export function textOf(message: UIMessage | undefined): string {
  return (message?.parts ?? []).flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
}

export async function codeOf(response: Response): Promise<string> {
  const { error } = (await response.json()) as { readonly error: { readonly code: string; readonly message: string } };
  expect(error.message).toMatch(/\.$/);
  return `${response.status} ${error.code}`;
}
