import type { AgentContext, AgentOutput, AnyAgent } from "../../agent/definition/agent.ts";
import type { Thread } from "../../thread/thread.ts";
import type { AgentHost } from "../host/port.ts";
import type { AgentRequest } from "../request/request.ts";
import { RequestError } from "../request/request-error.ts";
import type { AskArguments, AskOptions } from "../server/options.ts";
import type { AgentServer } from "../server/port.ts";
import { decisionsFor } from "./decisions.ts";
import { lastUserContent } from "./last-user-content.ts";
import type { UIMessageLike, UIToolPart } from "./message.ts";
import { toUIMessages } from "./to-ui-messages.ts";

/** The part of an AgentHost that a chat needs. */
export type ChatHost<Given extends AnyAgent = AnyAgent> = Pick<AgentHost<Given>, "get" | "ask">;

/** What may be said of an ask, and who decides. */
export type ChatTurnOptions<Given extends AnyAgent = AnyAgent> = AskOptions<AgentContext<Given>> & {
  readonly by?: string | undefined;
};

/** What a post of `useChat` came to; `uiMessageStream(request, turn)` streams what is new. */
export interface ChatTurn<Output = unknown> {
  readonly request: AgentRequest<Output>;
  readonly after?: number;
  readonly thread: () => Thread;
}

/**
 * Does what a post of `useChat` wants: asks what the user said last; or, when the last message is the assistant's, approves,
 * denies and answers the calls that waited for it, and goes on with their request. Only what waits is decided; when nothing
 * does, it is a RequestError `not_waiting`.
 *
 * @example
 * const host = AgentHost.create({ agent: defineAgent({ model: scriptedModel(["4"]) }), store: memoryStore() });
 * const messages = [{ id: "1", role: "user", parts: [{ type: "text", text: "What's 2+2?" }] }];
 * const { request } = await chatTurn(host, "thread_1", messages);
 * const { text } = await request.result; // "4"
 */
export async function chatTurn<Given extends AnyAgent>(
  host: ChatHost<Given>,
  threadId: string,
  messages: readonly UIMessageLike[],
  ...given: AskArguments<ChatTurnOptions<Given>>
): Promise<ChatTurn<AgentOutput<Given>>> {
  const [{ by, ...asked } = {}] = given as [options?: ChatTurnOptions<AnyAgent>]; // whatever the context is
  const last = Array.isArray(messages) ? messages.at(-1) : undefined;
  if (last?.role === "assistant") return goOn(await host.get(threadId), last, by);
  const request = await host.ask(threadId, lastUserContent(messages), ...([asked] as AskArguments<never>)); // as it was given
  const server = await host.get(threadId);
  return { request, thread: () => server.thread() };
}

async function goOn<Given extends AnyAgent>(
  server: AgentServer<Given>,
  message: UIMessageLike,
  by: string | undefined,
): Promise<ChatTurn<AgentOutput<Given>>> {
  const { request } = server;
  const after = request === undefined ? 0 : await restOf(request);
  const wanted = request === undefined ? [] : decisionsFor(waitingCalls(server.thread(), request.id), message);
  if (request === undefined || wanted.length === 0) throw notWaiting();
  for (const decision of wanted) {
    const { toolCallId } = decision;
    if ("output" in decision) await server.answer(toolCallId, decision.output);
    else if (decision.approved) await server.approve(toolCallId, { by, note: decision.note });
    else await server.deny(toolCallId, { by, note: decision.note });
  }
  return { request, after, thread: () => server.thread() };
}

function notWaiting(): RequestError {
  const message =
    "No call waits for what was decided. It was decided before, or its request has ended; load the messages anew.";
  return new RequestError({ code: "not_waiting", message });
}

/** The seq of the last event before the request came to rest: all up to here has been streamed. */
async function restOf(request: AgentRequest): Promise<number> {
  let last = 0;
  for await (const { seq } of request.events({ until: "waiting" })) last = seq;
  return last;
}

/** The calls of the request that nobody has decided yet. */
function waitingCalls(thread: Thread, requestId: string): readonly UIToolPart[] {
  const message = toUIMessages(thread).findLast(({ id, role }) => role === "assistant" && id === requestId);
  const step = message?.parts.slice(message.parts.findLastIndex(({ type }) => type === "step-start")) ?? [];
  return step.flatMap((part) => ("toolCallId" in part && !part.providerExecuted ? [part] : []));
}
