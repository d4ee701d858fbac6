import {
  type EntryInput,
  type JsonObject,
  type JsonValue,
  type Message,
  type Projection,
  ProjectionError,
  type ProjectionInput,
  project,
  Thread,
} from "heddle";
import type { EntryExtras } from "heddle/testing";

/** A thread of these entries. */
export function given(...entries: readonly EntryInput[]): Thread {
  return Thread.create().append(entries);
}

/** What the model sees of them, by default all that there is. */
export function shown(entries: readonly EntryInput[], input: Omit<ProjectionInput, "thread"> = {}): Projection {
  return project({ thread: given(...entries), policy: { maxInputTokens: 100_000 }, ...input });
}

/** Messages as one reads them: "user: hi", "assistant: Let me see. -> add(c1)", "tool c1: 4". */
export function told({ messages }: Pick<Projection, "messages">): string[] {
  return messages.map((message) => {
    if (message.role === "tool") return `tool ${message.toolCallId}: ${textOf(message)}`;
    const calls = message.role === "assistant" ? (message.toolCalls ?? []).map(({ id, name }) => `${name}(${id})`) : [];
    const said = textOf(message);
    return [`${message.role}:`, said, calls.length > 0 && `-> ${calls.join(", ")}`].filter(Boolean).join(" ");
  });
}

function textOf({ content }: Message): string {
  if (typeof content === "string") return content;
  return content.map((part) => (part.type === "text" ? part.text : `<${part.type}>`)).join("");
}

/** A message of the second vocabulary. */
export function ai(
  role: string,
  content: JsonValue,
  more: JsonObject = {},
  { contextRef = "default", ...extras }: EntryExtras & { readonly contextRef?: string } = {},
): EntryInput {
  return { ...extras, kind: "ai_message", payload: { contextRef, role, content, ...more } };
}

/** A replace that puts messages in the place of what a lane held. */
export function context(
  messages: JsonValue,
  { lane = "default", ...more }: { readonly lane?: string; readonly baseSeq?: number } = {},
  resultContext: JsonObject = {},
): EntryInput {
  const operation = {
    type: "replace",
    reason: "manual",
    ...more,
    resultContext: { id: "c", entries: messages, ...resultContext },
  };
  return { kind: "ai_context_operation", payload: { opId: "op", contextRef: lane, operation } };
}

/** The refusal of a call that gives one. */
export function refusalOf(call: () => unknown): ProjectionError {
  try {
    call();
  } catch (error) {
    if (ProjectionError.isInstance(error)) return error;
    throw error;
  }
  throw new Error("It was not refused.");
}
