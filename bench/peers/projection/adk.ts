import type { Message, ToolCall } from "heddle";
import { loadPeer, withVersion } from "../load.ts";
import type { ContextPeer } from "./peer.ts";
import { textOf } from "./text.ts";

interface Part {
  readonly text?: string;
  readonly functionCall?: { readonly id: string; readonly name: string; readonly args: ToolCall["arguments"] };
  readonly functionResponse?: { readonly id: string; readonly name: string; readonly response: { output: string } };
}
interface Content {
  readonly role: "user" | "model";
  readonly parts: readonly Part[];
}
interface Event {
  readonly content: Content;
}
interface Adk {
  createEvent(event: { invocationId: string; author: string; content: Content; timestamp: number }): Event;
}
interface Contents {
  getContents(events: readonly Event[], agentName: string): readonly Content[];
}

const AGENT = "agent";

export async function adk(): Promise<ContextPeer> {
  const { createEvent } = await loadPeer<Adk>("@google/adk");
  // Of what the package exports it is only here.
  const { getContents } = await loadPeer<Contents>("@google/adk/dist/web/agents/processors/content_processor_utils.js");
  return {
    packages: [withVersion("@google/adk")],
    variants: [
      {
        name: "Google ADK getContents",
        tables: ["build"],
        counts: "tokens",
        fixed: 0,
        notes: ["It knows of no budget: it copies all events of the session."],
        open() {
          const events: Event[] = [];
          const last: Message[] = [];
          return {
            add(messages) {
              for (const message of messages) {
                const joins = message.role === "tool" && last[0]?.role === "tool" ? events.pop() : undefined;
                const content = contentOf(message, joins?.content);
                const author = content.role === "user" && message.role === "user" ? "user" : AGENT;
                events.push(createEvent({ invocationId: "invocation", author, content, timestamp: events.length }));
                last[0] = message;
              }
            },
            build() {
              const contents = getContents(events, AGENT);
              return () => contents.flatMap(messagesOf);
            },
          };
        },
      },
    ],
  };
}

/** The responses to the calls of one answer are one content. */
function contentOf(message: Message, joins: Content | undefined): Content {
  const text = textOf(message.content);
  if (message.role === "tool") {
    const { toolCallId: id, name } = message;
    return {
      role: "user",
      parts: [...(joins?.parts ?? []), { functionResponse: { id, name, response: { output: text } } }],
    };
  }
  const said: Part[] = text === "" ? [] : [{ text }];
  if (message.role !== "assistant") return { role: "user", parts: said };
  const calls = (message.toolCalls ?? []).map(
    ({ id, name, arguments: args }): Part => ({ functionCall: { id, name, args } }),
  );
  return { role: "model", parts: [...said, ...calls] };
}

function messagesOf({ role, parts }: Content): Message[] {
  const text = parts.map((part) => part.text ?? "").join("");
  const results = parts.flatMap(({ functionResponse: result }): Message[] =>
    result === undefined
      ? []
      : [{ role: "tool", toolCallId: result.id, name: result.name, content: result.response.output }],
  );
  if (results.length > 0) return results;
  if (role === "user") return [{ role: "user", content: text }];
  const toolCalls = parts.flatMap(({ functionCall: call }): ToolCall[] =>
    call === undefined ? [] : [{ id: call.id, name: call.name, arguments: call.args }],
  );
  return [{ role: "assistant", content: text, ...(toolCalls.length > 0 && { toolCalls }) }];
}
