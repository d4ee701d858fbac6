import { portableSha256, type Sha256, utf8Length } from "../../thread/encoding.ts";
import type { Content, FileContentPart, Message, Part, ToolCall } from "../../thread/message.ts";
import { headAndTail } from "../render/shorten.ts";

/** An item of a record (the conversation as text for a summarizer): a line written by Heddle, or a quoted text. */
export type RecordItem = { readonly label: string } | { readonly quote: string };

/** The longest texts of a record, in bytes. 0 means no limit. */
export interface RecordLimits {
  readonly result: number;
  /** The limit for other texts: messages, and arguments of calls. */
  readonly text: number;
}

/** The default limit of a tool result in a record. About 200 lines of code, enough to show what the result is about. */
export const MAX_RESULT_TOKENS = 2000;

export const BYTES_PER_TOKEN = 4;

/** Writes the messages as record items, without thinking and without data that only a provider can read. */
export function recordOf(messages: readonly Message[], limits: RecordLimits): readonly RecordItem[] {
  return messages.flatMap((message) => itemsOfMessage(message, limits));
}

function itemsOfMessage(message: Message, limits: RecordLimits): readonly RecordItem[] {
  switch (message.role) {
    case "system":
    case "user":
      return partsOf(message.content, "\n").flatMap((part) => itemsOfPart(part, message.role, limits));
    case "assistant":
      // Adjacent texts are joined, because citations split an answer in the middle of a sentence.
      return [
        ...partsOf(message.content, "").flatMap((part) => itemsOfPart(part, "assistant", limits)),
        ...(message.toolCalls ?? []).flatMap((call) => callItems(call, limits)),
      ];
    case "tool":
      return resultItems(
        message.toolCallId,
        message.name,
        message.isError,
        partsOf(message.content, "\n"),
        limits.result,
      );
    default:
      return message satisfies never;
  }
}

/** Returns the parts of a content, with adjacent texts joined. */
function partsOf(content: Content, glue: string): readonly Part[] {
  const parts: Part[] = [];
  for (const part of typeof content === "string" ? [{ type: "text", text: content } as const] : content) {
    const last = parts.at(-1);
    if (part.type !== "text" || last?.type !== "text") parts.push(part);
    else parts[parts.length - 1] = { type: "text", text: last.text + glue + part.text };
  }
  return parts;
}

function itemsOfPart(part: Part, speaker: string, limits: RecordLimits): readonly RecordItem[] {
  switch (part.type) {
    case "text":
      return part.text.trim() === "" ? [] : [{ label: speaker }, ...cappedText(part.text, limits.text)];
    case "thinking": // left out: thinking is not part of the conversation, and models refuse to summarize it
    case "tool_call": // left out: it marks only the position of a call in `toolCalls`
      return [];
    case "file":
      return [{ label: `${speaker}, ${fileNote(part)}` }];
    case "source":
    case "custom":
      return [{ label: `${speaker}, ${part.type}` }, ...cappedText(dataOf(part), limits.result)];
    case "provider_call":
      return callItems(part, limits);
    case "provider_result": {
      const text = typeof part.result === "string" ? part.result : JSON.stringify(part.result);
      return resultItems(part.id, part.name, part.isError, [{ type: "text", text }], limits.result);
    }
    default:
      return part satisfies never;
  }
}

function callItems(
  { id, name, arguments: args }: Pick<ToolCall, "id" | "name" | "arguments">,
  { text }: RecordLimits,
): readonly RecordItem[] {
  const label = `assistant called ${quoted(name)}, call ${quoted(id)}`;
  return [{ label }, ...cappedText(JSON.stringify(args), text)];
}

/** Writes a result: its texts share one size limit, and its files are listed after them. */
function resultItems(
  id: string,
  name: string,
  isError: boolean | undefined,
  parts: readonly Part[],
  maxBytes: number,
): readonly RecordItem[] {
  const speaker = `${isError ? "error" : "result"} of ${quoted(name)}, call ${quoted(id)}`;
  const text = parts.flatMap(textIn).join("\n");
  const files = parts.filter((part) => part.type === "file");
  return [
    { label: speaker },
    ...(text === "" ? [] : cappedText(text, maxBytes)),
    ...files.map((file) => ({ label: `${speaker}, ${fileNote(file)}` })),
  ];
}

function textIn(part: Part): readonly string[] {
  switch (part.type) {
    case "text":
      return [part.text];
    case "source":
    case "custom":
      return [dataOf(part)];
    default:
      return []; // `resultOf` lists the files; parts of other types occur only in answers of the model
  }
}

export function cappedText(text: string, maxBytes: number): readonly RecordItem[] {
  const ends = maxBytes > 0 ? headAndTail(text, maxBytes) : undefined;
  if (ends === undefined) return [{ quote: text }];
  const label = `${ends.leftBytes} of ${ends.bytes} bytes left out here`;
  return [{ quote: ends.head }, { label }, { quote: ends.tail }];
}

/** Returns the JSON of a part without its metadata, such as signatures, which only the provider can read. */
function dataOf({ type: _type, metadata: _metadata, ...data }: Extract<Part, { type: "source" | "custom" }>): string {
  return JSON.stringify(data);
}

/** Describes a file. A data URL is left out, because it contains the file's bytes. */
function fileNote({ mediaType, filename, data }: FileContentPart): string {
  const name = filename === undefined ? [] : [quoted(filename)];
  const url = "url" in data && !/^data:/i.test(data.url) ? [`at ${quoted(data.url)}`] : [];
  const blob = "blob" in data ? [`blob ${quoted(data.blob)}`] : [];
  return ["file", ...name, `of type ${quoted(mediaType)}`, ...url, ...blob, "(content not in this record)"].join(" ");
}

/** Quotes a name, because a name from a server may contain line breaks. */
function quoted(name: string): string {
  return JSON.stringify(name);
}

/** The approximate size of the instructions, the labels and the last line, in bytes. */
const INSTRUCTIONS = 3000;

/** The bytes for the record in a request of so many tokens, and the longest previous summary in it. */
export function roomOf(maxTokens: number): { readonly record: number; readonly previous: number } {
  const record = maxTokens * BYTES_PER_TOKEN - INSTRUCTIONS;
  return { record, previous: Math.floor(record / 2) };
}

/** The tokens of such a request without the messages of its range: instructions, and the previous summary as long as it may be. */
export function otherTokens(previous: { readonly content: string } | undefined, maxTokens: number): number {
  const shown = Math.min(utf8Length(previous?.content ?? ""), Math.max(0, roomOf(maxTokens).previous));
  return Math.ceil((INSTRUCTIONS + shown) / BYTES_PER_TOKEN);
}

/** Returns the size of the messages in a record, in tokens of four bytes. */
export function recordTokens(messages: readonly Message[]): number {
  const items = recordOf(messages, { result: MAX_RESULT_TOKENS * BYTES_PER_TOKEN, text: 0 });
  return Math.ceil(sizeOf(items) / BYTES_PER_TOKEN);
}

/** Returns the bytes of a record, with the mark before each of Heddle's lines and all line breaks. */
export function sizeOf(items: readonly RecordItem[]): number {
  return items.reduce(
    (sum, item) => sum + ("label" in item ? 14 + utf8Length(item.label) : 1 + utf8Length(item.quote)),
    0,
  );
}

/** A record as text. Every line written by Heddle begins with `mark`, which occurs nowhere else. */
interface Frame {
  readonly mark: string;
  readonly text: string;
}

/** The last line of a record. */
export const END_OF_RECORD = "end of the record";

/** Hexadecimal digits of the mark. No text has so many of them by chance. */
const MARK_LENGTH = 10;

/**
 * Writes untrusted texts so that none can end or imitate the record. Heddle's lines begin with a mark, a hash of all
 * texts that no author can predict. It is hashed again while it occurs in a text. Equal items give equal bytes.
 */
export function frameRecord(items: readonly RecordItem[], sha256: Sha256 = portableSha256): Frame {
  const mark = `[${markFor(items.map(textOfItem).join("\n"), sha256)}]`;
  const lines = items.map((item) => ("label" in item ? `${mark} ${item.label}` : item.quote));
  return { mark, text: [...lines, `${mark} ${END_OF_RECORD}`].join("\n") };
}

function markFor(content: string, sha256: Sha256): string {
  for (let attempt = 0; ; attempt++) {
    const mark = sha256(`${attempt}\n${content}`).slice(0, MARK_LENGTH);
    if (!content.includes(mark)) return mark;
  }
}

/** Returns the text of an item. Heddle's own lines count too, because they contain untrusted names and ids. */
function textOfItem(item: RecordItem): string {
  return "label" in item ? item.label : item.quote;
}
