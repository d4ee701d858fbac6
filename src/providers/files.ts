import type { FilePart } from "../thread/message.ts";
import { fileUnsendable } from "./error.ts";

/** Where a provider finds the bytes of a file. */
export type FileSource = { readonly url: string } | { readonly base64: string };

export function sourceOf({ data }: FilePart): FileSource {
  if (!("blob" in data)) return data;
  throw fileUnsendable("A file is still a blob of the store; replace its data by base64 or a URL first.");
}

/** The address of a file, or its bytes as a data URL. */
export function urlOf(part: FilePart): string {
  const source = sourceOf(part);
  return "url" in source ? source.url : `data:${part.mediaType};base64,${source.base64}`;
}

/** `image` of `image/png`. */
export function familyOf({ mediaType }: FilePart): string {
  return mediaType.split("/")[0] ?? "";
}

/** The text in base64; undefined when it is no base64 or no UTF-8. */
export function decodeText(base64: string): string | undefined {
  try {
    const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
