import type { EntryInput, Message } from "heddle";

/** The entries that a message is in a thread. */
export function entriesOf(message: Message): EntryInput[] {
  switch (message.role) {
    case "tool": {
      const { toolCallId, name, content } = message;
      return [{ kind: "tool_result", payload: { toolCallId, name, result: content as string } }]; // all of ours are text
    }
    case "assistant": {
      const calls = (message.toolCalls ?? []).map(
        ({ id, name, arguments: args }): EntryInput => ({ kind: "tool_call", payload: { id, name, arguments: args } }),
      );
      return message.content === "" ? calls : [said(message), ...calls];
    }
    default:
      return [said(message)];
  }
}

function said({ role, content }: Message): EntryInput {
  return { kind: "message", payload: { role, content: content as string } };
}
