import type { Message } from "heddle";
import { textOf } from "./text.ts";

type Part =
  | { type: "text"; text: string }
  | { type: "step-start" }
  | {
      type: "tool-invocation";
      toolInvocation: {
        state: "call" | "result";
        toolCallId: string;
        toolName: string;
        args: unknown;
        result?: string;
      };
    };

/** A message as Mastra stores it: all that the model says and does between two asks is one of them. */
export interface DbMessage {
  readonly id: string;
  readonly threadId: string;
  readonly resourceId: string;
  readonly role: "user" | "assistant";
  readonly createdAt: Date;
  readonly content: { readonly format: 2; readonly parts: Part[] };
}

const START = 1_700_000_000_000;

/** A conversation as Mastra's memory holds it: earlier turns, the ask, what was answered so far. */
export class MastraTurns {
  remembered: DbMessage[] = [];
  input: DbMessage[] = [];
  response: DbMessage[] = [];
  #count = 0;

  get all(): DbMessage[] {
    return [...this.remembered, ...this.input, ...this.response];
  }

  add(messages: readonly Message[]): void {
    for (const message of messages) this.#addOne(message);
  }

  forget(removed: readonly { readonly id: string }[]): void {
    const ids = new Set(removed.map(({ id }) => id));
    this.remembered = this.remembered.filter(({ id }) => !ids.has(id));
  }

  #addOne(message: Message): void {
    const text = textOf(message.content);
    if (message.role === "tool") {
      const { parts } = this.#answer().content;
      for (const part of parts)
        if (part.type === "tool-invocation" && part.toolInvocation.toolCallId === message.toolCallId)
          part.toolInvocation = { ...part.toolInvocation, state: "result", result: text };
    } else if (message.role === "assistant") {
      const { parts } = this.#answer().content;
      parts.push({ type: "step-start" });
      if (text !== "") parts.push({ type: "text", text });
      for (const { id: toolCallId, name: toolName, arguments: args } of message.toolCalls ?? [])
        parts.push({ type: "tool-invocation", toolInvocation: { state: "call", toolCallId, toolName, args } });
    } else {
      this.remembered.push(...this.input, ...this.response);
      this.input = [this.#message("user", [{ type: "text", text }])];
      this.response = [];
    }
  }

  #answer(): DbMessage {
    const answer = this.response[0] ?? this.#message("assistant", []);
    this.response = [answer];
    return answer;
  }

  #message(role: DbMessage["role"], parts: Part[]): DbMessage {
    const id = `message_${this.#count}`;
    const createdAt = new Date(START + this.#count);
    this.#count += 1;
    return { id, threadId: "thread", resourceId: "bench", role, createdAt, content: { format: 2, parts } };
  }
}
