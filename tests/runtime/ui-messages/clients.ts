import * as ai7 from "ai";
import * as ai6 from "ai-v6";
import { type AgentHost, RequestError } from "heddle";
import {
  chatTurn,
  resumeTurn,
  type UIChatMessage,
  type UIMessageLike,
  type UIStreamOptions,
  uiMessageStreamResponse,
} from "heddle/ai-sdk";

/** What a page does with the chat of any version of the AI SDK. */
export interface PageChat {
  readonly status: string;
  readonly error: Error | undefined;
  readonly messages: readonly UIChatMessage[];
  sendMessage(message: { readonly text: string; readonly messageId?: string }): Promise<void>;
  regenerate(options?: { readonly messageId?: string }): Promise<void>;
  stop(): Promise<void>;
  addToolApprovalResponse(response: { readonly id: string; readonly approved: boolean }): PromiseLike<void>;
  resumeStream(): Promise<void>;
}

export interface ClientVersion {
  readonly version: 6 | 7;
  /** A chat as useChat holds it, against the routes of the docs. */
  open(host: AgentHost, messages?: readonly UIChatMessage[]): PageChat;
  validate(messages: readonly UIChatMessage[]): Promise<unknown>;
  toModelMessages(messages: readonly UIChatMessage[]): Promise<readonly { readonly role: string }[]>;
}

/** The body that `DefaultChatTransport` posts. */
interface PostedBody {
  readonly id: string;
  readonly messages: UIMessageLike[];
  readonly trigger?: string;
  readonly messageId?: string;
}

/** The routes of docs/ai-sdk.md. */
function routesOf(host: AgentHost, options: UIStreamOptions): typeof fetch {
  return async (_input, init) => {
    if (init?.method === "POST") {
      const { id, messages, ...what } = JSON.parse(String(init.body)) as PostedBody;
      try {
        const { request, ...turn } = await chatTurn(host, id, messages, what);
        return uiMessageStreamResponse(request, { ...turn, ...options });
      } catch (error) {
        if (RequestError.isInstance(error)) return new Response(error.code, { status: 409 });
        throw error;
      }
    }
    const turn = await resumeTurn(host, "thread_c");
    if (turn === undefined) return new Response(null, { status: 204 });
    const { request, ...of } = turn;
    return uiMessageStreamResponse(request, { ...of, ...options });
  };
}

interface Sdk {
  readonly AbstractChat: unknown;
  readonly DefaultChatTransport: unknown;
  readonly lastAssistantMessageIsCompleteWithApprovalResponses: (options: object) => boolean;
  readonly lastAssistantMessageIsCompleteWithToolCalls: (options: object) => boolean;
  readonly convertToModelMessages: unknown;
  readonly validateUIMessages: unknown;
}

/** The two packages have the same names and other types; what a page uses is in PageChat. */
function clientOf(version: 6 | 7, sdk: Sdk): ClientVersion {
  const Base = sdk.AbstractChat as new (init: object) => PageChat;
  const Transport = sdk.DefaultChatTransport as new (options: object) => object;
  return {
    version,
    open(host, messages = []) {
      const state = {
        status: "ready",
        error: undefined,
        messages: structuredClone(messages) as UIChatMessage[],
        pushMessage: (message: UIChatMessage) => void state.messages.push(structuredClone(message)),
        popMessage: () => void state.messages.pop(),
        replaceMessage: (index: number, message: UIChatMessage) => {
          state.messages[index] = structuredClone(message);
        },
        snapshot: structuredClone,
      };
      return new Base({
        id: "thread_c",
        state,
        transport: new Transport({ api: "http://localhost/api/chat", fetch: routesOf(host, { client: version }) }),
        sendAutomaticallyWhen: (options: object) =>
          sdk.lastAssistantMessageIsCompleteWithToolCalls(options) ||
          sdk.lastAssistantMessageIsCompleteWithApprovalResponses(options),
      });
    },
    validate: (messages) => (sdk.validateUIMessages as (options: object) => Promise<unknown>)({ messages }),
    toModelMessages: sdk.convertToModelMessages as ClientVersion["toModelMessages"],
  };
}

export const CLIENTS: readonly ClientVersion[] = [ai6, ai7].map((sdk, index) =>
  clientOf(index === 0 ? 6 : 7, sdk as unknown as Sdk),
); // their types differ
