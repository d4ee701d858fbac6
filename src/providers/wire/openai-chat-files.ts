import { noteOf } from "../../thread/file-note.ts";
import type { FilePart } from "../../thread/message.ts";
import { familyOf, sourceOf, urlOf } from "../files.ts";
import { textField } from "../metadata.ts";

export type OpenAIChatPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image_url"; readonly image_url: { readonly url: string; readonly detail?: string } }
  | { readonly type: "input_audio"; readonly input_audio: { readonly data: string; readonly format: "wav" | "mp3" } }
  | { readonly type: "file"; readonly file: { readonly filename: string; readonly file_data: string } };

/** Images by URL or bytes; audio and PDF by bytes only. `index` is used in the name of a file without one. */
export function chatFile(part: FilePart, index: number): OpenAIChatPart {
  const source = sourceOf(part);
  if (familyOf(part) === "image") {
    const detail = textField(part, "openai", "imageDetail");
    return { type: "image_url", image_url: { url: urlOf(part), ...(detail === undefined ? {} : { detail }) } };
  }
  const format = AUDIO.get(part.mediaType);
  if ("base64" in source && format !== undefined) {
    return { type: "input_audio", input_audio: { data: source.base64, format } };
  }
  if ("base64" in source && part.mediaType === "application/pdf") {
    return { type: "file", file: { filename: part.filename ?? `part-${index}.pdf`, file_data: urlOf(part) } };
  }
  return { type: "text", text: noteOf(part) };
}

const AUDIO: ReadonlyMap<string, "wav" | "mp3"> = new Map([
  ["audio/wav", "wav"],
  ["audio/mp3", "mp3"],
  ["audio/mpeg", "mp3"],
]);
