import type { Content, FilePart, Message, Part, ToolSpec } from "../thread/message.ts";
import { textOfFile } from "./files.ts";

/**
 * All text of a message that a model reads, in order: texts, thinking, names, ids, arguments and results as JSON. A line
 * break between two pieces represents the structure a provider adds.
 */
export function textOf(message: Message): string {
  switch (message.role) {
    case "system":
      return message.content;
    case "user":
      return join(piecesOf(message.content));
    case "assistant":
      return join([
        ...piecesOf(message.content),
        ...(message.toolCalls ?? []).flatMap((call) => [call.id, call.name, JSON.stringify(call.arguments)]),
      ]);
    case "tool":
      return join([message.toolCallId, message.name, ...piecesOf(message.content)]);
    default:
      return message satisfies never;
  }
}

/** The description of a tool for the model, as text. */
export function textOfTool(spec: ToolSpec): string {
  return join([spec.name, spec.description ?? "", JSON.stringify(spec.inputSchema)]);
}

/** The files of a message, which have no text to count. */
export function filesOf({ content }: Message): readonly FilePart[] {
  return typeof content === "string" ? [] : content.filter((part) => part.type === "file");
}

function piecesOf(content: Content): readonly string[] {
  return typeof content === "string" ? [content] : content.flatMap(piecesOfPart);
}

function piecesOfPart(part: Part): readonly string[] {
  switch (part.type) {
    case "text":
    case "thinking":
      return [part.text];
    case "file":
      return [part.filename ?? "", textOfFile(part) ?? ""];
    case "source":
    case "custom": {
      const { type: _type, metadata: _metadata, ...rest } = part;
      return [JSON.stringify(rest)];
    }
    case "provider_call":
      return [part.id, part.name, JSON.stringify(part.arguments)];
    case "provider_result":
      return [part.id, part.name, JSON.stringify(part.result)];
    case "tool_call":
      return []; // only a place; the call is in toolCalls
    default:
      return part satisfies never;
  }
}

function join(pieces: readonly string[]): string {
  return pieces.filter((piece) => piece !== "").join("\n");
}
