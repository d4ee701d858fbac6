import type { FilePart, PartMetadata, TextPart, ToolMessage } from "../../thread/message.ts";
import { objectOf } from "../arguments.ts";
import { fileUnsendable } from "../error.ts";
import { sourceOf } from "../files.ts";
import { thaw, thawObject } from "../metadata.ts";
import type { Piece } from "../parts.ts";
import { resultOf } from "../results.ts";
import type { AISDKAssistantPart, AISDKFile, AISDKProviderOptions, AISDKText, AISDKToolResult } from "./types.ts";

/** Metadata is returned under its original provider name. Output calls it providerMetadata, input providerOptions. */
function optionsOf({ metadata }: { readonly metadata?: PartMetadata }): {
  providerOptions?: AISDKProviderOptions;
} {
  if (metadata === undefined) return {};
  const { heddle, ...others } = metadata;
  const { approval: _ofCall, ...ours } = heddle ?? {}; // `withApprovals` writes the approval
  const kept = Object.keys(ours).length === 0 ? others : metadata;
  const owners = Object.entries(kept).map(([owner, value]) => [owner, thawObject(value)] as const);
  return owners.length === 0 && heddle !== undefined ? {} : { providerOptions: Object.fromEntries(owners) };
}

export function textPart(part: TextPart): AISDKText {
  return { type: "text", text: part.text, ...optionsOf(part) };
}

export function filePart(part: FilePart): AISDKFile {
  const source = sourceOf(part);
  const data =
    "url" in source
      ? { type: "url" as const, url: parsedUrl(source.url) }
      : { type: "data" as const, data: source.base64 };
  const filename = part.filename === undefined ? {} : { filename: part.filename };
  return { type: "file", mediaType: part.mediaType, ...filename, data, ...optionsOf(part) };
}

function parsedUrl(url: string): URL {
  try {
    return new URL(url);
  } catch (cause) {
    throw fileUnsendable("The URL of a file cannot be parsed; give it a scheme such as https:.", cause);
  }
}

export function assistantPart(piece: Piece): readonly AISDKAssistantPart[] {
  switch (piece.type) {
    case "text":
      return [textPart(piece)];
    case "file":
      return [filePart(piece)];
    case "thinking":
      return [{ type: "reasoning", text: piece.text, ...optionsOf(piece) }];
    case "call": {
      const { id: toolCallId, name: toolName, arguments: input } = piece.call;
      return [{ type: "tool-call", toolCallId, toolName, input: thaw(objectOf(input)), ...optionsOf(piece.call) }];
    }
    case "provider_call": {
      const call = { toolCallId: piece.id, toolName: piece.name, input: thaw(piece.arguments) };
      return [{ type: "tool-call", ...call, providerExecuted: true, ...optionsOf(piece) }];
    }
    case "provider_result": {
      const output = { type: piece.isError === true ? "error-json" : "json", value: thaw(piece.result) } as const;
      return [{ type: "tool-result", toolCallId: piece.id, toolName: piece.name, output, ...optionsOf(piece) }];
    }
    case "custom": {
      const { kind } = piece;
      return isKind(kind) ? [{ type: "custom", kind, ...optionsOf(piece) }] : [];
    }
    case "source":
      return []; // a prompt cannot hold it
    default:
      return piece satisfies never;
  }
}

function isKind(kind: unknown): kind is `${string}.${string}` {
  return typeof kind === "string" && kind.includes(".");
}

export function toolResult(message: ToolMessage): AISDKToolResult {
  const { toolCallId, name: toolName } = message;
  return { type: "tool-result", toolCallId, toolName, output: outputOf(message), ...optionsOf(message) };
}

function outputOf(message: ToolMessage): AISDKToolResult["output"] {
  const result = resultOf(message);
  switch (result.type) {
    case "text":
      return { type: "text", value: result.text };
    case "error":
      return typeof result.error === "string"
        ? { type: "error-text", value: result.error }
        : { type: "error-json", value: thaw(result.error) };
    case "parts":
      return {
        type: "content",
        value: result.parts.map((part) => (part.type === "text" ? textPart(part) : filePart(part))),
      };
    default:
      return result satisfies never;
  }
}
