import type { Message, ToolCall } from "heddle";
import { textOf } from "./text.ts";

// The messages of the AI SDK's providers, which Mastra's prompts are made of too, as far as the bench needs them.

type TextPart = { readonly type: "text"; readonly text: string };
type CallPart = {
  readonly type: "tool-call";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: unknown;
};
type ResultPart = {
  readonly type: "tool-result";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly output: { readonly type: string; readonly value: unknown };
};
export type PromptMessage =
  | { readonly role: "system"; readonly content: string }
  | { readonly role: "user"; readonly content: readonly TextPart[] }
  | { readonly role: "assistant"; readonly content: readonly (TextPart | CallPart)[] }
  | { readonly role: "tool"; readonly content: readonly ResultPart[] };

/** Adds to a prompt; the results of one message of calls are one message of it, as the AI SDK makes them. */
export function addToPrompt(prompt: PromptMessage[], messages: readonly Message[]): void {
  for (const message of messages) {
    const made = promptMessage(message);
    const last = prompt.at(-1);
    if (made.role === "tool" && last?.role === "tool")
      prompt[prompt.length - 1] = { role: "tool", content: [...last.content, ...made.content] };
    else prompt.push(made);
  }
}

function promptMessage(message: Message): PromptMessage {
  const text = textOf(message.content);
  const parts: TextPart[] = text === "" ? [] : [{ type: "text", text }];
  switch (message.role) {
    case "system":
      return { role: "system", content: text };
    case "user":
      return { role: "user", content: parts };
    case "assistant": {
      const calls = (message.toolCalls ?? []).map(
        ({ id, name, arguments: input }): CallPart => ({ type: "tool-call", toolCallId: id, toolName: name, input }),
      );
      return { role: "assistant", content: [...parts, ...calls] };
    }
    case "tool": {
      const { toolCallId, name: toolName } = message;
      const output = { type: "text", value: text };
      return { role: "tool", content: [{ type: "tool-result", toolCallId, toolName, output }] };
    }
  }
}

export function fromPrompt(prompt: readonly PromptMessage[]): Message[] {
  return prompt.flatMap(neutral);
}

function neutral(message: PromptMessage): Message[] {
  switch (message.role) {
    case "system":
      return [message];
    case "user":
      return [{ role: "user", content: message.content.map(({ text }) => text).join("") }];
    case "assistant":
      return [assistant(message.content)];
    case "tool":
      return message.content.map(({ toolCallId, toolName: name, output }): Message => {
        return { role: "tool", toolCallId, name, content: String(output.value) };
      });
  }
}

function assistant(parts: readonly (TextPart | CallPart)[]): Message {
  const content = parts.map((part) => (part.type === "text" ? part.text : "")).join("");
  const toolCalls = parts.flatMap((part): ToolCall[] =>
    part.type === "tool-call"
      ? [{ id: part.toolCallId, name: part.toolName, arguments: part.input as ToolCall["arguments"] }]
      : [],
  );
  return { role: "assistant", content, ...(toolCalls.length > 0 && { toolCalls }) };
}
