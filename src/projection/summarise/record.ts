import type { Content, FilePart, Message, Part, ToolCall } from "../../thread/message.ts";
import { headAndTail } from "../render/head-and-tail.ts";
import type { Piece } from "./frame.ts";

/** The messages as a summariser reads them: everything but thinking and what only a provider can read. */
export function recordOf(messages: readonly Message[], maxResultBytes: number): readonly Piece[] {
  return messages.flatMap((message) => piecesOf(message, maxResultBytes));
}

function piecesOf(message: Message, maxBytes: number): readonly Piece[] {
  switch (message.role) {
    case "system":
    case "user":
      return partsOf(message.content, "\n").flatMap((part) => saidIn(part, message.role, maxBytes));
    case "assistant":
      // Citations split an answer in the middle of a sentence, so nothing may come between its texts.
      return [
        ...partsOf(message.content, "").flatMap((part) => saidIn(part, "assistant", maxBytes)),
        ...(message.toolCalls ?? []).flatMap(called),
      ];
    case "tool":
      return resultOf(message.toolCallId, message.name, message.isError, partsOf(message.content, "\n"), maxBytes);
    default:
      return message satisfies never;
  }
}

/** The parts of a content, with texts that follow each other joined to one. */
function partsOf(content: Content, glue: string): readonly Part[] {
  const parts: Part[] = [];
  for (const part of typeof content === "string" ? [{ type: "text", text: content } as const] : content) {
    const last = parts.at(-1);
    if (part.type !== "text" || last?.type !== "text") parts.push(part);
    else parts[parts.length - 1] = { type: "text", text: last.text + glue + part.text };
  }
  return parts;
}

function saidIn(part: Part, speaker: string, maxBytes: number): readonly Piece[] {
  switch (part.type) {
    case "text":
      return part.text.trim() === "" ? [] : [{ line: speaker }, { said: part.text }];
    case "thinking": // no part of the conversation, and models refuse to summarise it
    case "tool_call": // only a place: the call itself stands in toolCalls
      return [];
    case "file":
      return [{ line: `${speaker}, ${fileNote(part)}` }];
    case "source":
    case "custom":
      return [{ line: `${speaker}, ${part.type}` }, ...capped(dataOf(part), maxBytes)];
    case "provider_call":
      return called(part);
    case "provider_result": {
      const text = typeof part.result === "string" ? part.result : JSON.stringify(part.result);
      return resultOf(part.id, part.name, part.isError, [{ type: "text", text }], maxBytes);
    }
    default:
      return part satisfies never;
  }
}

function called({ id, name, arguments: args }: Pick<ToolCall, "id" | "name" | "arguments">): readonly Piece[] {
  return [{ line: `assistant called ${quoted(name)}, call ${quoted(id)}` }, { said: JSON.stringify(args) }];
}

/** One cap for all that a result says, in however many parts; its files are named after it. */
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
      return []; // files are named, and the others belong to answers
  }
}

function capped(text: string, maxBytes: number): readonly Piece[] {
  const ends = maxBytes > 0 ? headAndTail(text, maxBytes) : undefined;
  if (ends === undefined) return [{ said: text }];
  const line = `${ends.leftBytes} of ${ends.bytes} bytes left out here`;
  return [{ said: ends.head }, { line }, { said: ends.tail }];
}

/** Metadata is for the provider alone: signatures, sealed thinking. */
function dataOf({ type: _type, metadata: _metadata, ...data }: Extract<Part, { type: "source" | "custom" }>): string {
  return JSON.stringify(data);
}

/** A data URL is the file itself. */
function fileNote({ mediaType, filename, data }: FilePart): string {
  const name = filename === undefined ? [] : [quoted(filename)];
  const url = "url" in data && !/^data:/i.test(data.url) ? [`at ${quoted(data.url)}`] : [];
  const blob = "blob" in data ? [`blob ${quoted(data.blob)}`] : [];
  return ["file", ...name, `of type ${quoted(mediaType)}`, ...url, ...blob, "(content not in this record)"].join(" ");
}

/** On one line, whatever a server has put into it. */
function quoted(name: string): string {
  return JSON.stringify(name);
}
