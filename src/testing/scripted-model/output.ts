import { thawObject } from "../../providers/metadata.ts";
import type { PartMetadata } from "../../thread/message.ts";
import { type Answer, type Said, type SaidCall, wholeText } from "./answer.ts";
import type { V4Content, V4FinishReason, V4Metadata, V4StreamPart, V4ToolCall } from "./language-model.ts";

/** The content that `doGenerate` returns. */
export function contentOf({ said }: Answer): V4Content[] {
  return said.map((part) => {
    if (part.type === "call") return toolCall(part);
    const type = part.type === "thinking" ? "reasoning" : "text";
    return { type, text: wholeText(part), ...withMetadata(part.metadata) };
  });
}

/** The same content as stream parts, without the start and finish parts. */
export function streamPartsOf({ said }: Answer): readonly V4StreamPart[] {
  return said.flatMap(partsOf);
}

/** Whether a part is a scripted delta. The empty delta with a signature is not. */
export function isDelta(part: V4StreamPart): boolean {
  switch (part.type) {
    case "text-delta":
    case "tool-input-delta":
      return true;
    case "reasoning-delta":
      return part.providerMetadata === undefined;
    default:
      return false;
  }
}

export function finishOf(unified: Answer["finishReason"]): V4FinishReason {
  return { unified, raw: unified };
}

function partsOf(part: Said, index: number): readonly V4StreamPart[] {
  const id = String(index);
  switch (part.type) {
    case "text":
      return [
        { type: "text-start", id },
        ...part.deltas.map((delta): V4StreamPart => ({ type: "text-delta", id, delta })),
        { type: "text-end", id, ...withMetadata(part.metadata) },
      ];
    case "thinking": {
      // Anthropic sends the signature in an empty delta; other providers send it with the end.
      const { anthropic, ...others } = part.metadata;
      const signature: V4StreamPart[] =
        anthropic === undefined ? [] : [{ type: "reasoning-delta", id, delta: "", ...withMetadata({ anthropic }) }];
      return [
        { type: "reasoning-start", id },
        ...part.deltas.map((delta): V4StreamPart => ({ type: "reasoning-delta", id, delta })),
        ...signature,
        { type: "reasoning-end", id, ...withMetadata(others) },
      ];
    }
    case "call":
      return [
        { type: "tool-input-start", id: part.id, toolName: part.name },
        ...part.deltas.map((delta): V4StreamPart => ({ type: "tool-input-delta", id: part.id, delta })),
        { type: "tool-input-end", id: part.id },
        toolCall(part),
      ];
    default:
      return part satisfies never;
  }
}

function toolCall(call: SaidCall): V4ToolCall {
  const { id, name, metadata } = call;
  return {
    type: "tool-call",
    toolCallId: id,
    toolName: name,
    input: wholeText(call),
    ...withMetadata(metadata),
  };
}

function withMetadata(metadata: PartMetadata): { providerMetadata?: V4Metadata } {
  const owners = Object.entries(metadata);
  if (owners.length === 0) return {};
  return { providerMetadata: Object.fromEntries(owners.map(([owner, fields]) => [owner, thawObject(fields)])) };
}
