import { noteOf } from "../../thread/file-note.ts";
import type { Content, FilePart, Message } from "../../thread/message.ts";
import { familyOf, sourceOf } from "../files.ts";
import type { AISDKOptions } from "./prompt.ts";

type Provider = NonNullable<AISDKOptions["provider"]>;

/**
 * The messages with a note in place of each file that the provider's package refuses. The package throws at every call that
 * holds such a file, so one file would end a conversation for good.
 */
export function withFileNotes(messages: readonly Message[], provider: Provider | undefined): readonly Message[] {
  if (provider === undefined) return messages;
  return messages.map(
    (message) =>
      typeof message.content === "string"
        ? message
        : ({ ...message, content: contentOf(message.content, provider) } as Message), // of the same role
  );
}

function contentOf(parts: Exclude<Content, string>, provider: Provider): Content {
  return parts.map((part) =>
    part.type !== "file" || takesFile(part, provider) ? part : { type: "text", text: noteOf(part) },
  );
}

/** By the media types that the packages send. Google's package sends every file. */
function takesFile(part: FilePart, provider: Provider): boolean {
  const { mediaType } = part;
  const isDocument = familyOf(part) === "image" || mediaType === "application/pdf";
  switch (provider) {
    case "openai":
      return isDocument;
    case "openai-chat":
      return isDocument || (familyOf(part) === "audio" && "base64" in sourceOf(part));
    case "anthropic":
      return isDocument || mediaType === "text/plain";
    case "google":
      return true;
    default:
      return provider satisfies never;
  }
}
