import type { Message, ToolCall } from "../../thread/message.ts";

/** A message with calls, and the results directly after it that answer them. */
export interface Exchange {
  readonly calls: readonly ToolCall[];
  readonly own: readonly { readonly index: number; readonly id: string; readonly name: string }[];
}

export function exchangesOf(messages: readonly Message[]): readonly Exchange[] {
  return messages.flatMap((message, index) => {
    const calls = callsOf(message);
    return calls.length === 0 ? [] : [{ calls, own: resultsBehind(messages, index, calls) }];
  });
}

export function callsOf(message: Message): readonly ToolCall[] {
  return message.role === "assistant" ? (message.toolCalls ?? []) : [];
}

function resultsBehind(messages: readonly Message[], start: number, calls: readonly ToolCall[]): Exchange["own"] {
  const own: { index: number; id: string; name: string }[] = [];
  for (let index = start + 1; index < messages.length; index++) {
    const message = messages[index];
    if (message?.role !== "tool") break;
    const { toolCallId: id, name } = message;
    if (calls.some((call) => call.id === id)) own.push({ index, id, name });
  }
  return own;
}
