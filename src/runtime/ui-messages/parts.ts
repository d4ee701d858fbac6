import { thawObject } from "../../providers/metadata.ts";
import { type Content, fileNote, type Part, type PartMetadata } from "../../thread/message.ts";
import { fileUrl } from "../../thread/messages/file-part.ts";
import { contentParts } from "../../thread/messages/neutral-message.ts";
import type { UIFilePart, UIPart, UIProviderMetadata, UITextPart } from "./message.ts";

/** A part of an answer as useChat shows it; places of calls, and calls that the provider made, are no parts of their own. */
export function uiPartOf(part: Part): UIPart | undefined {
  const more = metadataOf(part.metadata);
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text, state: "done", ...more };
    case "thinking":
      return { type: "reasoning", text: part.text, state: "done", ...more };
    case "file": {
      if ("blob" in part.data) return { type: "text", text: fileNote(part), state: "done" };
      const { mediaType, filename } = part;
      return { type: "file", mediaType, ...(filename !== undefined && { filename }), url: fileUrl(part), ...more };
    }
    case "source": {
      const { id, sourceType, url, title, mediaType = "", filename } = part;
      const sourceId = String(id);
      const name = typeof filename === "string" ? { filename } : {};
      if (sourceType === "document") {
        return {
          type: "source-document",
          sourceId,
          mediaType: String(mediaType),
          title: String(title ?? ""),
          ...name,
          ...more,
        };
      }
      if (typeof url !== "string") return undefined;
      return { type: "source-url", sourceId, url, ...(typeof title === "string" && { title }), ...more };
    }
    case "custom": {
      const { kind } = part;
      return isKind(kind) ? { type: "custom", kind, ...more } : undefined;
    }
    case "provider_call":
    case "provider_result":
    case "tool_call":
      return undefined;
    default:
      return part satisfies never;
  }
}

/** What a user said. */
export function uiPartsOfUser(content: Content): (UITextPart | UIFilePart)[] {
  return contentParts(content).flatMap((part): (UITextPart | UIFilePart)[] => {
    const made = uiPartOf(part);
    if (made?.type === "file") return [made];
    return made?.type === "text" ? [{ type: "text", text: made.text }] : [];
  });
}

export function metadataOf(metadata: PartMetadata | undefined): { providerMetadata?: UIProviderMetadata } {
  if (metadata === undefined) return {};
  const owners = Object.entries(metadata).map(([owner, value]) => [owner, thawObject(value)] as const);
  return { providerMetadata: Object.fromEntries(owners) };
}

function isKind(kind: unknown): kind is `${string}.${string}` {
  return typeof kind === "string" && kind.includes(".");
}
