import {
  AbstractChat as Chat7,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  type UIMessage,
} from "ai";
import { AbstractChat as Chat6 } from "ai-v6";
import { AgentHost, type AnyAgent, memoryStore, type ThreadStore } from "heddle";
import { chatHandler, type UIChatMessage } from "heddle/ai-sdk";
import { chatTransport, type FollowedState, type FollowedThread, followThread } from "heddle/client";
import { type ScriptedStep, scriptedModel } from "heddle/testing";
import { expect, onTestFinished } from "vitest";
import { HandClock } from "../../browser/support/hand-clock.ts";
import { agentOf, anything } from "../../runtime/ui-messages/chat.ts";
import type { PageChat } from "../../runtime/ui-messages/clients.ts";

/** A server whose process can end, and whose connections can be cut. */
export class TestServer {
  readonly store: ThreadStore = memoryStore();
  readonly posts: unknown[] = [];
  /** What pages have read, for each request. */
  readonly read: string[] = [];
  #host: AgentHost;
  #handler: (request: Request) => Promise<Response>;
  readonly #connections = new Set<() => void>();
  /** Connections with a greater number are not frozen. */
  #frozen = -1;
  /** Resolves when the server is back. */
  #down: PromiseWithResolvers<void> | undefined;

  constructor(agent: AnyAgent) {
    [this.#host, this.#handler] = this.#start(agent);
  }

  get host(): AgentHost {
    return this.#host;
  }

  readonly fetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init);
    if (this.#down !== undefined) {
      await this.#down.promise;
      throw new TypeError("fetch failed");
    }
    if (request.method === "POST") this.posts.push(JSON.parse(String(init?.body)));
    const response = await this.#handler(request);
    if (response.body === null) return response;
    const reader = response.body.getReader();
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        const cut = (): void => {
          controller.error(new TypeError("network error"));
          void reader.cancel();
        };
        this.#connections.add(cut);
        init?.signal?.addEventListener("abort", () => {
          this.#connections.delete(cut);
          controller.error(init.signal?.reason);
          void reader.cancel();
        });
        void (async () => {
          const at = this.read.push("") - 1;
          for (let next = await reader.read(); !next.done; next = await reader.read()) {
            this.read[at] += new TextDecoder().decode(next.value);
            if (at > this.#frozen) controller.enqueue(next.value);
          }
          if (this.#connections.delete(cut) && at > this.#frozen) controller.close();
        })().catch(() => undefined);
      },
      cancel: (reason) => reader.cancel(reason),
    });
    return new Response(body, response);
  };

  /** Each open connection is lost. */
  cut(): void {
    for (const cut of this.#connections) cut();
    this.#connections.clear();
  }

  /** Nothing comes any more over the open connections, which do not end. */
  freeze(): void {
    this.#frozen = this.read.length - 1;
  }

  goDown(): void {
    this.#down ??= Promise.withResolvers();
    this.cut();
  }

  comeBack(): void {
    this.#down?.resolve();
    this.#down = undefined;
  }

  /** The process ends as on SIGTERM, and another one begins. */
  async restart(agent: AnyAgent): Promise<void> {
    this.#down = Promise.withResolvers();
    await this.#host.stop({ graceMs: 0 });
    this.goDown();
    [this.#host, this.#handler] = this.#start(agent);
    this.comeBack();
  }

  #start(agent: AnyAgent): [AgentHost, (request: Request) => Promise<Response>] {
    const host = AgentHost.create({ agent, store: this.store, warn: () => undefined });
    onTestFinished(() => host.stop({ graceMs: 0 }));
    return [host, chatHandler({ host, authorize: () => true })];
  }
}
/** Each word of an answer waits for the clock, except for the first. */
export const slowly = (...text: string[]): ScriptedStep => ({ text, deltaDelayMs: 1 });

export function agentWith(
  script: readonly ScriptedStep[],
  clock = new HandClock(),
  config: Parameters<typeof agentOf>[1] = {},
): AnyAgent {
  const model = scriptedModel(script, { after: clock.after });
  const pay = { inputSchema: anything, needsApproval: true, execute: () => "paid" };
  const see = { inputSchema: anything, execute: () => "seen" };
  return agentOf([], { model, tools: { pay, see }, ...config });
}

export interface Tab {
  readonly chat: PageChat & { readonly statuses: string[] };
  readonly thread: FollowedThread;
  state(): FollowedState | undefined;
  texts(): string;
}

/** A page with the chat of the AI SDK, which follows its thread. */
export function tabOn(server: TestServer, version: 6 | 7 = 7): Tab {
  const transport = chatTransport({
    api: "http://localhost/api/chat",
    fetch: server.fetch,
    client: version,
    retryDelayMs: () => 0,
  });
  const statuses: string[] = [];
  const state = {
    get status() {
      return statuses.at(-1) ?? "ready";
    },
    set status(status: string) {
      statuses.push(status);
    },
    error: undefined,
    messages: [] as UIChatMessage[],
    pushMessage: (message: UIChatMessage) => void state.messages.push(structuredClone(message)),
    popMessage: () => void state.messages.pop(),
    replaceMessage: (index: number, message: UIChatMessage) => {
      state.messages[index] = structuredClone(message);
    },
    snapshot: structuredClone,
  };
  const Chat = (version === 6 ? Chat6 : Chat7) as unknown as new (init: object) => PageChat; // what a page uses of both is PageChat
  const sendAutomaticallyWhen = (options: { messages: UIMessage[] }): boolean =>
    lastAssistantMessageIsCompleteWithToolCalls(options) ||
    lastAssistantMessageIsCompleteWithApprovalResponses(options);
  const chat = Object.assign(new Chat({ id: "t", state, transport, sendAutomaticallyWhen }), { statuses });
  let known: FollowedState | undefined;
  const thread = followThread<UIChatMessage>({
    transport,
    id: "t",
    setMessages: (update) => {
      state.messages = update(state.messages);
    },
    resumeStream: () => chat.resumeStream(),
    onState: (next) => {
      known = next;
    },
  });
  onTestFinished(() => thread.close());
  return { chat, thread, state: () => known, texts: () => chat.messages.map(textOf).join(" | ") };
}

function textOf({ parts }: UIChatMessage): string {
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join(" / ");
}

/** The tab shows what a reload shows. */
export async function isAsReloaded(server: TestServer, { chat, state }: Tab, version: 6 | 7 = 7): Promise<void> {
  const response = await server.fetch(`http://localhost/api/chat/t/messages?client=${version}`);
  const shown = (await response.json()) as FollowedState & { readonly messages: unknown };
  await expect.poll(() => JSON.parse(JSON.stringify(chat.messages))).toEqual(shown.messages);
  await expect
    .poll(() => state())
    .toMatchObject({ queued: shown.queued, siblings: shown.siblings, status: shown.status });
}
