import type { FilePart, Message, ToolMessage } from "../../thread/message.ts";
import { objectOf } from "../arguments.ts";
import { sourceOf } from "../files.ts";
import { textField } from "../metadata.ts";
import { type Piece, partsOf, piecesOf } from "../parts.ts";
import { resultOf } from "../results.ts";
import { readablePieces } from "../thinking.ts";
import type { GeminiFile, GeminiPart } from "./gemini-types.ts";

/** The parts of one message. System messages are sent in another field. */
export function geminiParts(message: Message): readonly GeminiPart[] {
  switch (message.role) {
    case "system":
      return [];
    case "user":
      return partsOf(message.content).flatMap((part): readonly GeminiPart[] => {
        if (part.type === "text") return part.text === "" ? [] : [{ text: part.text }];
        return part.type === "file" ? [geminiFile(part)] : [];
      });
    case "assistant":
      return readablePieces(piecesOf(message), "google").flatMap(modelPart);
    case "tool":
      return [functionResponse(message)];
    default:
      return message satisfies never;
  }
}

/** A signature must be returned on the part it came with, even on an empty text. */
function modelPart(piece: Piece): readonly GeminiPart[] {
  const signature = textField(piece.type === "call" ? piece.call : piece, "google", "thoughtSignature");
  const signed = signature === undefined ? {} : { thoughtSignature: signature };
  switch (piece.type) {
    case "text":
      return [{ text: piece.text, ...signed }];
    case "thinking":
      return [{ text: piece.text, thought: true, ...signed }];
    case "file":
      return [{ ...geminiFile(piece), ...signed }];
    case "call": {
      const { id, name, arguments: input } = piece.call;
      return [{ functionCall: { id, name, args: objectOf(input) }, ...signed }];
    }
    case "source":
    case "custom":
    case "provider_call":
    case "provider_result":
      return []; // each kind has its own form; toAISDKPrompt supports them
    default:
      return piece satisfies never;
  }
}

function geminiFile(part: FilePart): GeminiFile {
  const source = sourceOf(part);
  return "url" in source
    ? { fileData: { mimeType: part.mediaType, fileUri: source.url } }
    : { inlineData: { mimeType: part.mediaType, data: source.base64 } };
}

function functionResponse(message: ToolMessage): GeminiPart {
  const { toolCallId: id, name } = message;
  const result = resultOf(message);
  switch (result.type) {
    case "text":
      return { functionResponse: { id, name, response: { name, content: result.text } } };
    case "error":
      return { functionResponse: { id, name, response: { name, error: result.error } } };
    case "parts": {
      const texts = result.parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
      const files = result.parts.flatMap((part) => (part.type === "file" ? [geminiFile(part)] : []));
      const content = texts.length === 0 ? "Tool executed successfully." : texts.join("\n");
      const parts = files.length === 0 ? {} : { parts: files };
      return { functionResponse: { id, name, response: { name, content }, ...parts } };
    }
    default:
      return result satisfies never;
  }
}
