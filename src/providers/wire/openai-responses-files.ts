import { noteOf } from "../../thread/file-note.ts";
import type { FilePart, TextPart } from "../../thread/message.ts";
import { familyOf, sourceOf, urlOf } from "../files.ts";
import { textField } from "../metadata.ts";

export type OpenAIResponsesPart =
  | { readonly type: "input_text"; readonly text: string }
  | { readonly type: "input_image"; readonly image_url: string; readonly detail?: string }
  | { readonly type: "input_file"; readonly file_url: string }
  | { readonly type: "input_file"; readonly filename: string; readonly file_data: string };

/** The parts of a file in a user message or tool result. */
export function responsesPart(part: TextPart | FilePart, nameless: string): OpenAIResponsesPart {
  if (part.type === "text") return { type: "input_text", text: part.text };
  const source = sourceOf(part);
  if (familyOf(part) === "image") {
    const detail = textField(part, "openai", "imageDetail");
    return { type: "input_image", image_url: urlOf(part), ...(detail === undefined ? {} : { detail }) };
  }
  if ("url" in source) return { type: "input_file", file_url: source.url };
  if (part.mediaType !== "application/pdf") return { type: "input_text", text: noteOf(part) };
  return { type: "input_file", filename: part.filename ?? nameless, file_data: urlOf(part) };
}
