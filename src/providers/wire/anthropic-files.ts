import { noteOf } from "../../thread/file-note.ts";
import type { FilePart } from "../../thread/message.ts";
import { decodeText, type FileSource, familyOf, sourceOf } from "../files.ts";
import type { AnthropicFile, AnthropicText } from "./anthropic-types.ts";

/** Images, PDF and plain text. The file name becomes the title of a document, except in a result, which has no titles. */
export function anthropicFile(part: FilePart, place: "message" | "result"): AnthropicFile | AnthropicText {
  const source = sourceOf(part);
  const title = place === "result" || part.filename === undefined ? {} : { title: part.filename };
  if (familyOf(part) === "image") return { type: "image", source: binary(source, part.mediaType) };
  if (part.mediaType === "application/pdf") {
    return { type: "document", source: binary(source, part.mediaType), ...title };
  }
  if (part.mediaType === "text/plain") {
    if ("url" in source) return { type: "document", source: { type: "url", url: source.url }, ...title };
    const data = decodeText(source.base64);
    if (data !== undefined) {
      return { type: "document", source: { type: "text", media_type: "text/plain", data }, ...title };
    }
  }
  return { type: "text", text: noteOf(part) };
}

function binary(source: FileSource, mediaType: string) {
  return "url" in source
    ? { type: "url" as const, url: source.url }
    : { type: "base64" as const, media_type: mediaType, data: source.base64 };
}
