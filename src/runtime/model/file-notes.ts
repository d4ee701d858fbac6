import { type Content, type FileContentPart, fileNote, type Message, type Part } from "../../thread/message.ts";

/** A package's error for what its format has no place for; it is thrown before anything is sent. */
export function isUnsupported(error: unknown): boolean {
  return error instanceof Error && error.name === "AI_UnsupportedFunctionalityError";
}

/** What most packages take, then what nearly all take, then none. */
const TAKEN: readonly ((file: FileContentPart) => boolean)[] = [
  ({ mediaType, data }) =>
    mediaType.startsWith("image/") ||
    ("base64" in data && /^(application\/pdf|audio\/(wav|mp3|mpeg))$/.test(mediaType)),
  ({ mediaType, data }) => mediaType.startsWith("image/") && "base64" in data,
  () => false,
];

/** The messages with a note in the place of more and more files. */
export function withNotes(messages: readonly Message[]): readonly (readonly Message[])[] {
  const lists: (readonly Message[])[] = [];
  for (const isTaken of TAKEN) {
    const before = lists.at(-1) ?? messages;
    const list = before.map((message) => withoutFiles(message, isTaken));
    if (list.some((message, index) => message !== before[index])) lists.push(list);
  }
  return lists;
}

/** The media types of the files that one list has and the other has not. */
export function filesLeftOut(before: readonly Message[], after: readonly Message[]): readonly string[] {
  const kept = new Set(after.flatMap(filesOf));
  return [...new Set(before.flatMap(filesOf).flatMap((file) => (kept.has(file) ? [] : [file.mediaType])))];
}

function filesOf({ content }: Message): readonly FileContentPart[] {
  return typeof content === "string" ? [] : content.filter((part) => part.type === "file");
}

function withoutFiles(message: Message, isTaken: (file: FileContentPart) => boolean): Message {
  if (message.role === "system" || typeof message.content === "string") return message;
  const isLeftOut = (part: Part): part is FileContentPart => part.type === "file" && !isTaken(part);
  if (!message.content.some(isLeftOut)) return message;
  const content: Content = message.content.map(
    (part): Part => (isLeftOut(part) ? { type: "text", text: fileNote(part) } : part),
  );
  return { ...message, content };
}
