import type { FilePart } from "./message.ts";

/** A text in place of a file that cannot be sent, so that the model knows of it and the provider accepts the request. */
export function noteOf({ mediaType, filename }: FilePart): string {
  return `[A file (${filename === undefined ? mediaType : `${filename}, ${mediaType}`}) that cannot be shown here]`;
}
