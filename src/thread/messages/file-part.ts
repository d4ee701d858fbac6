import { isPlainObject } from "../json.ts";
import type { FileContentPart } from "../message.ts";
import type { Field } from "./field.ts";
import { base64 } from "./original.ts";

/** Reads a file of any format. Undefined for one that only its provider stores, which is never shown to a model. */
export function readFilePart(part: Field): FileContentPart | undefined {
  const holder =
    ["source", "file", "image_url", "input_audio", "data", "image"]
      .map((name) => part.at(name))
      .find(({ value }) => isPlainObject(value)) ?? part;
  const source = first(holder, "url", "data", "file_data", "image", "text");
  if (source === undefined) {
    if (holder === part) throw part.error("must hold a url or data");
    return undefined;
  }
  const isText = holder !== part && holder.at("type").value === "text";
  const from = isText ? base64(new TextEncoder().encode(source)) : source;
  const [, ofUrl, bytes] = /^data:([^;,]*)[^,]*;base64,(.*)$/s.exec(from) ?? [];
  const isUrl = bytes === undefined && /^[a-z][a-z0-9+.-]*:/i.test(from);
  const format = first(holder, "format");
  const type = first(part, "mediaType", "mimeType") ?? first(holder, "media_type") ?? (format && `audio/${format}`);
  const filename = first(part, "filename", "title") ?? first(holder, "filename");
  const known = part.type === "document" ? (isText ? "text/plain" : "application/pdf") : imageOf(bytes ?? from);
  return {
    type: "file",
    mediaType: (/\/[^*]/.test(type ?? "") ? type : ofUrl || known || type) || "image/*",
    ...(filename !== undefined && { filename }),
    data: isUrl ? { url: from } : { base64: bytes ?? from },
  };
}

function first(field: Field, ...names: readonly string[]): string | undefined {
  return names.map((name) => field.at(name)).find(({ isPresent }) => isPresent)?.text;
}

/** The media type of an image, detected from the start of its base64. */
export function imageOf(source: string): string | undefined {
  const [kind] = Object.entries(IMAGES).find(([, sign]) => sign.test(source)) ?? [];
  return kind && `image/${kind}`;
}

const IMAGES = { png: /^iVBORw/, jpeg: /^\/9j\//, gif: /^R0lGOD/, webp: /^UklGR/, heic: /^AAAA..Z0eXBoZWlj/ };

export function fileUrl({ data, mediaType }: FileContentPart): string {
  if ("url" in data) return data.url;
  return "blob" in data ? data.blob : `data:${mediaType};base64,${data.base64}`;
}
