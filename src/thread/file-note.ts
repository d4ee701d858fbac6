import type { FilePart } from "./message.ts";

/** Stands in for a file that cannot be sent, so that the model knows of it and the request passes. */
export function noteOf({ mediaType, filename }: FilePart): string {
  return `[A file (${filename === undefined ? mediaType : `${filename}, ${mediaType}`}) that cannot be shown here]`;
}
