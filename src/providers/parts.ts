import type { AssistantMessage, Content, Part, ToolCall, ToolCallPlace } from "../thread/message.ts";

/** What an assistant message is made of, in the order the model said it: its calls stand among its parts. */
export type Piece = Exclude<Part, ToolCallPlace> | { readonly type: "call"; readonly call: ToolCall };

/** The parts of a content; empty text carries nothing, and some providers refuse it. */
export function partsOf(content: Content): readonly Part[] {
  const parts: readonly Part[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
  return parts.filter((part) => part.type !== "text" || part.text !== "" || part.metadata !== undefined);
}

/** Calls stand at their place; those that have none come last, as providers list them. */
export function piecesOf({ content, toolCalls = [] }: AssistantMessage): readonly Piece[] {
  const waiting = new Map(toolCalls.map((call) => [call.id, call]));
  const pieces: Piece[] = [];
  for (const part of partsOf(content)) {
    if (part.type !== "tool_call") {
      pieces.push(part);
      continue;
    }
    const call = waiting.get(part.id);
    if (call === undefined) continue; // a place of nothing, or a second place of the same call
    waiting.delete(part.id);
    const metadata = call.metadata ?? part.metadata;
    pieces.push({ type: "call", call: metadata === undefined ? call : { ...call, metadata } });
  }
  for (const call of toolCalls) if (waiting.has(call.id)) pieces.push({ type: "call", call });
  return pieces;
}
