import {
  AbstractChat,
  type ChatState,
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  type UIMessage,
} from "ai";

/** A route of an app. */
export type Route = (request: Request) => Promise<Response>;

/** What useChat holds. */
class PageState implements ChatState<UIMessage> {
  status: ChatState<UIMessage>["status"] = "ready";
  error: Error | undefined = undefined;
  messages: UIMessage[];

  constructor(messages: UIMessage[]) {
    this.messages = messages;
  }

  pushMessage = (message: UIMessage): void => {
    this.messages.push(message);
  };
  popMessage = (): void => {
    this.messages.pop();
  };
  replaceMessage = (index: number, message: UIMessage): void => {
    this.messages[index] = message;
  };
  snapshot = <T>(thing: T): T => structuredClone(thing);
}

/** A page with useChat: the chat of the AI SDK with its own transport, which posts to a route. */
export class Page extends AbstractChat<UIMessage> {
  constructor(post: Route, messages: readonly UIMessage[] = [], body: object = {}, id = "thread_1") {
    const fetch = (url: unknown, init?: RequestInit): Promise<Response> => post(new Request(String(url), init));
    super({
      id,
      state: new PageState(structuredClone([...messages])),
      transport: new DefaultChatTransport({ api: "http://localhost/api/chat", fetch, body }),
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    });
  }

  /** The messages as JSON has them. */
  get shown(): UIMessage[] {
    return JSON.parse(JSON.stringify(this.messages)) as UIMessage[];
  }

  get text(): string {
    return textOf(this.messages.at(-1));
  }

  /** The approval that waits, and its call. */
  get approval(): { readonly id: string; readonly toolCallId: string } | undefined {
    for (const part of this.messages.at(-1)?.parts ?? []) {
      if ("approval" in part && part.state === "approval-requested")
        return { id: part.approval?.id ?? "", toolCallId: part.toolCallId };
    }
    return undefined;
  }
}

function textOf(message: UIMessage | undefined): string {
  return (message?.parts ?? []).flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
}
