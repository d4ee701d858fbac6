import type { FilePart } from "../thread/message.ts";
import { fileUnsendable } from "./error.ts";

/** The source of a file's bytes for a provider. */
export type FileSource = { readonly url: string } | { readonly base64: string };

export function sourceOf({ data }: FilePart): FileSource {
  if (!("blob" in data)) return data;
  throw fileUnsendable("A file is still a blob of the store; replace its data by base64 or a URL first.");
}

/** The URL of a file, or its bytes as a data URL. */
export function urlOf(part: FilePart): string {
  const source = sourceOf(part);
  return "url" in source ? source.url : `data:${part.mediaType};base64,${source.base64}`;
}

/** The first half of a media type: `image` for `image/png`. */
export function familyOf({ mediaType }: FilePart): string {
  return mediaType.split("/")[0] ?? "";
}

/** The text in base64. Undefined when it is not base64 or not UTF-8. */
export function decodeText(base64: string): string | undefined {
  try {
    const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
