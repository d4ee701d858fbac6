import type { AssistantMessage, Content, Part, ToolCall, ToolCallPlace } from "../thread/message.ts";

/** The pieces of an assistant message in order: its parts with the calls among them. */
export type Piece = Exclude<Part, ToolCallPlace> | { readonly type: "call"; readonly call: ToolCall };

/** The parts of a content. Empty text is left out, because some providers refuse it. */
export function partsOf(content: Content): readonly Part[] {
  const parts: readonly Part[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
  return parts.filter((part) => part.type !== "text" || part.text !== "" || part.metadata !== undefined);
}

/** Puts calls at their places. Calls without a place come last, as in the providers' formats. */
export function piecesOf({ content, toolCalls = [] }: AssistantMessage): readonly Piece[] {
  const waiting = new Map(toolCalls.map((call) => [call.id, call]));
  const pieces: Piece[] = [];
  for (const part of partsOf(content)) {
    if (part.type !== "tool_call") {
      pieces.push(part);
      continue;
    }
    const call = waiting.get(part.id);
    if (call === undefined) continue; // a place without a call, or a second place of one call
    waiting.delete(part.id);
    const metadata = call.metadata ?? part.metadata;
    pieces.push({ type: "call", call: metadata === undefined ? call : { ...call, metadata } });
  }
  for (const call of toolCalls) if (waiting.has(call.id)) pieces.push({ type: "call", call });
  return pieces;
}
