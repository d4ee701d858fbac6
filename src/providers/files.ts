import type { FileContentPart } from "../thread/message.ts";
import { fileUnsendable } from "./error.ts";

/** The bytes of a file, as a URL or base64. */
export type FileSource = { readonly url: string } | { readonly base64: string };

export function sourceOf({ data }: FileContentPart): FileSource {
  if (!("blob" in data)) return data;
  throw fileUnsendable("A file is still a blob of the store; replace its data by base64 or a URL first.");
}

/** Returns the URL of a file, or a data URL with its bytes. */
export function urlOf(part: FileContentPart): string {
  const source = sourceOf(part);
  return "url" in source ? source.url : `data:${part.mediaType};base64,${source.base64}`;
}

/** Returns the first half of a media type: `image` for `image/png`. */
export function familyOf({ mediaType }: FileContentPart): string {
  return mediaType.split("/")[0] ?? "";
}

/** Decodes base64 to text. Undefined if it is not base64 or not UTF-8. */
export function decodeText(base64: string): string | undefined {
  try {
    const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
