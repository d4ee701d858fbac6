import type { Message, ThinkingPart, ToolMessage } from "../../thread/message.ts";
import { objectOf } from "../arguments.ts";
import { metadataOf, textField } from "../metadata.ts";
import { type Piece, partsOf, piecesOf } from "../parts.ts";
import { resultOf } from "../results.ts";
import { runs } from "../runs.ts";
import { readablePieces } from "../thinking.ts";
import { anthropicFile } from "./anthropic-files.ts";
import type { AnthropicBlock, AnthropicThinking, AnthropicToolResult } from "./anthropic-types.ts";

/** The blocks of one message. System messages are sent in another field. */
export function blocksOf(message: Message): readonly AnthropicBlock[] {
  switch (message.role) {
    case "system":
      return [];
    case "user":
      return partsOf(message.content).flatMap((part): readonly AnthropicBlock[] => {
        if (part.type === "text") return part.text === "" ? [] : [{ type: "text", text: part.text }];
        return part.type === "file" ? [anthropicFile(part, "message")] : [];
      });
    case "assistant":
      return callsLast(readablePieces(piecesOf(message), "anthropic").flatMap(blockOf));
    case "tool":
      return [toolResult(message)];
    default:
      return message satisfies never;
  }
}

function blockOf(piece: Piece): readonly AnthropicBlock[] {
  switch (piece.type) {
    case "text": {
      const { citations } = metadataOf(piece, "anthropic");
      return [{ type: "text", text: piece.text, ...(citations === undefined ? {} : { citations }) }];
    }
    case "thinking":
      return [thinkingBlock(piece)];
    case "call": {
      const { id, name, arguments: input } = piece.call;
      return [{ type: "tool_use", id, name, input: objectOf(input) }];
    }
    case "file":
    case "source":
    case "custom":
    case "provider_call":
    case "provider_result":
      return []; // no files in assistant messages; provider calls have a form for each tool, see toAISDKPrompt
    default:
      return piece satisfies never;
  }
}

function thinkingBlock(part: ThinkingPart): AnthropicThinking {
  const { signature } = metadataOf(part, "anthropic");
  if (typeof signature === "string") return { type: "thinking", thinking: part.text, signature };
  return { type: "redacted_thinking", data: textField(part, "anthropic", "redactedData") ?? "" };
}

/** Claude requires text before calls between two thinking blocks. Thinking blocks keep their places. */
function callsLast(blocks: readonly AnthropicBlock[]): readonly AnthropicBlock[] {
  return runs(blocks, (a, b) => !isThinking(a) && !isThinking(b)).flatMap((run) => [
    ...run.filter(({ type }) => type !== "tool_use"),
    ...run.filter(({ type }) => type === "tool_use"),
  ]);
}

export function isThinking({ type }: AnthropicBlock): boolean {
  return type === "thinking" || type === "redacted_thinking";
}

function toolResult(message: ToolMessage): AnthropicToolResult {
  const block = { type: "tool_result" as const, tool_use_id: message.toolCallId };
  const result = resultOf(message);
  switch (result.type) {
    case "text":
      return { ...block, content: result.text };
    case "error": {
      const { error } = result;
      return { ...block, content: typeof error === "string" ? error : JSON.stringify(error), is_error: true };
    }
    case "parts":
      return {
        ...block,
        content: result.parts.map((part) =>
          part.type === "text" ? { type: "text", text: part.text } : anthropicFile(part, "result"),
        ),
      };
    default:
      return result satisfies never;
  }
}
