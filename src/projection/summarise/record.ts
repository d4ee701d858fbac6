import type { Content, FilePart, Message, Part, ToolCall } from "../../thread/message.ts";
import { headAndTail } from "../render/head-and-tail.ts";
import type { Piece } from "./frame.ts";

/** The longest texts of a record, in bytes. 0 is no limit. */
export interface RecordLimits {
  readonly result: number;
  /** The limit for other texts: messages, and arguments of calls. */
  readonly text: number;
}

/** The messages as a summarizer reads them, without thinking and without data that only a provider can read. */
export function recordOf(messages: readonly Message[], limits: RecordLimits): readonly Piece[] {
  return messages.flatMap((message) => piecesOf(message, limits));
}

function piecesOf(message: Message, limits: RecordLimits): readonly Piece[] {
  switch (message.role) {
    case "system":
    case "user":
      return partsOf(message.content, "\n").flatMap((part) => saidIn(part, message.role, limits));
    case "assistant":
      // Citations split an answer in the middle of a sentence, so nothing may come between its texts.
      return [
        ...partsOf(message.content, "").flatMap((part) => saidIn(part, "assistant", limits)),
        ...(message.toolCalls ?? []).flatMap((call) => called(call, limits)),
      ];
    case "tool":
      return resultOf(message.toolCallId, message.name, message.isError, partsOf(message.content, "\n"), limits.result);
    default:
      return message satisfies never;
  }
}

/** The parts of a content, with adjacent texts joined. */
function partsOf(content: Content, glue: string): readonly Part[] {
  const parts: Part[] = [];
  for (const part of typeof content === "string" ? [{ type: "text", text: content } as const] : content) {
    const last = parts.at(-1);
    if (part.type !== "text" || last?.type !== "text") parts.push(part);
    else parts[parts.length - 1] = { type: "text", text: last.text + glue + part.text };
  }
  return parts;
}

function saidIn(part: Part, speaker: string, limits: RecordLimits): readonly Piece[] {
  switch (part.type) {
    case "text":
      return part.text.trim() === "" ? [] : [{ line: speaker }, ...capped(part.text, limits.text)];
    case "thinking": // not part of the conversation, and models refuse to summarize it
    case "tool_call": // only a place; the call is in toolCalls
      return [];
    case "file":
      return [{ line: `${speaker}, ${fileNote(part)}` }];
    case "source":
    case "custom":
      return [{ line: `${speaker}, ${part.type}` }, ...capped(dataOf(part), limits.result)];
    case "provider_call":
      return called(part, limits);
    case "provider_result": {
      const text = typeof part.result === "string" ? part.result : JSON.stringify(part.result);
      return resultOf(part.id, part.name, part.isError, [{ type: "text", text }], limits.result);
    }
    default:
      return part satisfies never;
  }
}

function called(
  { id, name, arguments: args }: Pick<ToolCall, "id" | "name" | "arguments">,
  { text }: RecordLimits,
): readonly Piece[] {
  const line = `assistant called ${quoted(name)}, call ${quoted(id)}`;
  return [{ line }, ...capped(JSON.stringify(args), text)];
}

/** One cap for all texts of a result. Its files are listed after them. */
function resultOf(
  id: string,
  name: string,
  isError: boolean | undefined,
  parts: readonly Part[],
  maxBytes: number,
): readonly Piece[] {
  const speaker = `${isError ? "error" : "result"} of ${quoted(name)}, call ${quoted(id)}`;
  const text = parts.flatMap(textIn).join("\n");
  const files = parts.filter((part) => part.type === "file");
  return [
    { line: speaker },
    ...(text === "" ? [] : capped(text, maxBytes)),
    ...files.map((file) => ({ line: `${speaker}, ${fileNote(file)}` })),
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
      return []; // files are listed by `resultOf`; other parts occur in answers only
  }
}

export function capped(text: string, maxBytes: number): readonly Piece[] {
  const ends = maxBytes > 0 ? headAndTail(text, maxBytes) : undefined;
  if (ends === undefined) return [{ said: text }];
  const line = `${ends.leftBytes} of ${ends.bytes} bytes left out here`;
  return [{ said: ends.head }, { line }, { said: ends.tail }];
}

/** Metadata, such as signatures and encrypted thinking, is for the provider only. */
function dataOf({ type: _type, metadata: _metadata, ...data }: Extract<Part, { type: "source" | "custom" }>): string {
  return JSON.stringify(data);
}

/** Leaves out a data URL, because it is the file itself. */
function fileNote({ mediaType, filename, data }: FilePart): string {
  const name = filename === undefined ? [] : [quoted(filename)];
  const url = "url" in data && !/^data:/i.test(data.url) ? [`at ${quoted(data.url)}`] : [];
  const blob = "blob" in data ? [`blob ${quoted(data.blob)}`] : [];
  return ["file", ...name, `of type ${quoted(mediaType)}`, ...url, ...blob, "(content not in this record)"].join(" ");
}

/** Quoted, because a name from a server may hold line breaks. */
function quoted(name: string): string {
  return JSON.stringify(name);
}
