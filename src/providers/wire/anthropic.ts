import type { JsonObject } from "../../thread/json.ts";
import {
  type FileContentPart,
  fileNote,
  groupAdjacent,
  type Message,
  type ThinkingPart,
  type ToolMessage,
  type ToolSpec,
} from "../../thread/message.ts";
import { refuseUnknownOptions } from "../../thread/options.ts";
import { type CacheOption, EPHEMERAL, isSystemMarked, marksOf } from "../cache.ts";
import {
  type AssistantPart,
  argumentsObject,
  assistantParts,
  decodeText,
  type FileSource,
  familyOf,
  functionTools,
  mediaTypeOf,
  messagesFor,
  metadataOf,
  partsOf,
  sourceOf,
  textField,
  toolOutputOf,
} from "../message-parts.ts";
import { readableParts } from "../thinking.ts";

type Cached = { readonly cache_control?: { readonly type: "ephemeral" } };

/** A text block of the Messages API. Only Anthropic reads the citations, so their type is open. */
export type AnthropicText = Cached & { readonly type: "text"; readonly text: string; readonly citations?: never[] };

type Source<MediaType> =
  | { readonly type: "url"; readonly url: string }
  | { readonly type: "base64"; readonly media_type: MediaType; readonly data: string };

type ImageType = "image/jpeg" | "image/png" | "image/gif" | "image/webp";

type TextSource = { readonly type: "text"; readonly media_type: "text/plain"; readonly data: string };

/** An image or document block. */
export type AnthropicFile = Cached &
  (
    | { readonly type: "image"; readonly source: Source<ImageType> }
    | { readonly type: "document"; readonly source: Source<"application/pdf"> | TextSource; readonly title?: string }
  );

/** A thinking block, which only Claude can read. */
export type AnthropicThinking =
  | { readonly type: "thinking"; readonly thinking: string; readonly signature: string }
  | { readonly type: "redacted_thinking"; readonly data: string };

/** A block that calls a tool. */
export type AnthropicToolUse = Cached & {
  readonly type: "tool_use";
  readonly id: string;
  readonly name: string;
  readonly input: JsonObject;
};

/** A block with the result of a call. */
export type AnthropicToolResult = Cached & {
  readonly type: "tool_result";
  readonly tool_use_id: string;
  readonly content: string | (AnthropicText | AnthropicFile)[];
  readonly is_error?: true;
};

/** Any block of a message. */
export type AnthropicBlock = AnthropicText | AnthropicFile | AnthropicThinking | AnthropicToolUse | AnthropicToolResult;

/** One message of a Messages request. */
export interface AnthropicMessage {
  readonly role: "user" | "assistant";
  readonly content: AnthropicBlock[];
}

/** A tool of a Messages request. */
export type AnthropicTool = Cached & {
  readonly name: string;
  readonly description?: string;
  readonly input_schema: { readonly type: "object"; readonly required?: string[]; readonly [field: string]: unknown };
};

/** Where `toAnthropic` places cache breakpoints. */
export interface AnthropicOptions {
  /** Adds cache breakpoints, at most four. Default none. */
  readonly cache?: CacheOption | undefined;
}

/** The fields of a Messages request that `toAnthropic` makes. */
export interface AnthropicBody {
  readonly system?: AnthropicText[];
  readonly messages: AnthropicMessage[];
  readonly tools?: AnthropicTool[];
}

/** A block, with the role and index of the message it comes from. */
interface PlacedBlock {
  readonly role: "user" | "assistant";
  readonly message: number;
  readonly block: AnthropicBlock;
}

/**
 * Makes the fields `system`, `messages` and `tools` of a Messages request. System messages go to `system`. Adjacent
 * messages of one role are merged, with tool results first. Thinking is unchanged.
 * @example
 * const body = toAnthropic([{ role: "system", content: "Be brief." }, { role: "user", content: "Hi" }], [], { cache: true });
 * console.log(body.system?.[0]?.cache_control); // { type: 'ephemeral' }
 */
export function toAnthropic(
  list: readonly Message[],
  tools: readonly ToolSpec[] = [],
  options: AnthropicOptions = {},
): AnthropicBody {
  const messages = messagesFor("anthropic", list);
  const system = messages.flatMap((message) => (message.role === "system" ? [textOf(message.content)] : []));
  const placed = groupAdjacent(messages.flatMap(place), (a, b) => a.role === b.role).flatMap(resultsFirst);
  const body = { system, placed: trimmed(placed), tools: functionTools(tools).map(toolOf) };
  refuseUnknownOptions("toAnthropic", options, { cache: true });
  const { cache } = options;
  return assemble(cache === undefined ? body : { ...body, ...withMarks(body, cache) });
}

interface Parts {
  readonly system: AnthropicText[];
  readonly placed: readonly PlacedBlock[];
  readonly tools: AnthropicTool[];
}

function place(message: Message, index: number): readonly PlacedBlock[] {
  const role = message.role === "assistant" ? "assistant" : "user";
  return blocksOf(message).map((block) => ({ role, message: index, block }));
}

/** Moves tool results before other content, because Anthropic requires: "tool_result blocks must come first". */
function resultsFirst(group: readonly PlacedBlock[]): readonly PlacedBlock[] {
  const isResult = ({ block }: PlacedBlock): boolean => block.type === "tool_result";
  return [...group.filter(isResult), ...group.filter((item) => !isResult(item))];
}

/**
 * Removes whitespace at the end, because of Anthropic's error: "final assistant content cannot end with trailing
 * whitespace".
 */
function trimmed(placed: readonly PlacedBlock[]): readonly PlacedBlock[] {
  const last = placed.at(-1);
  if (last?.role !== "assistant" || last.block.type !== "text") return placed;
  return [...placed.slice(0, -1), { ...last, block: { ...last.block, text: last.block.text.trimEnd() } }];
}

/** Adds cache breakpoints. Tools come before system in the cache, so one in system covers both. */
function withMarks({ system, placed, tools }: Parts, cache: CacheOption): Parts {
  const marks = marksOf(
    placed.map(({ message, block }) => ({ message, markable: !isThinking(block) })),
    cache,
    system.length,
  );
  return {
    system: system.map((block, index) => (isSystemMarked(index, system.length) ? mark(block) : block)),
    placed: placed.map((item, index) => (marks.has(index) ? { ...item, block: mark(item.block) } : item)),
    tools: tools.map((tool, index) => (system.length === 0 && index === tools.length - 1 ? mark(tool) : tool)),
  };
}

function mark<T extends object>(block: T): T {
  return { ...block, cache_control: EPHEMERAL };
}

function assemble({ system, placed, tools }: Parts): AnthropicBody {
  const messages = groupAdjacent(placed, (a, b) => a.role === b.role).map((group) => ({
    role: group[0]?.role ?? "user", // every group has at least one item
    content: group.map(({ block }) => block),
  }));
  return {
    ...(system.length === 0 ? {} : { system }),
    messages,
    ...(tools.length === 0 ? {} : { tools }),
  };
}

function textOf(text: string): AnthropicText {
  return { type: "text", text };
}

function toolOf({ name, description, inputSchema }: ToolSpec): AnthropicTool {
  return {
    name,
    ...(description === undefined ? {} : { description }),
    input_schema: inputSchema as AnthropicTool["input_schema"],
  }; // the arguments of a tool are an object
}

/** Returns the blocks of one message. System messages have none, because they are a separate field. */
function blocksOf(message: Message): readonly AnthropicBlock[] {
  switch (message.role) {
    case "system":
      return [];
    case "user":
      return partsOf(message.content).flatMap((part): readonly AnthropicBlock[] => {
        if (part.type === "text") return part.text === "" ? [] : [{ type: "text", text: part.text }];
        return part.type === "file" ? [anthropicFile(part, "message")] : [];
      });
    case "assistant":
      return callsLast(readableParts(assistantParts(message), "anthropic").flatMap(blockOf));
    case "tool":
      return [toolResult(message)];
    default:
      return message satisfies never;
  }
}

function blockOf(part: AssistantPart): readonly AnthropicBlock[] {
  switch (part.type) {
    case "text": {
      const { citations } = metadataOf(part, "anthropic");
      return [{ type: "text", text: part.text, ...(Array.isArray(citations) && { citations: citations as never[] }) }]; // they came from Anthropic
    }
    case "thinking":
      return [thinkingBlock(part)];
    case "call": {
      const { id, name, arguments: input } = part.call;
      return [{ type: "tool_use", id, name, input: argumentsObject(input) }];
    }
    case "file":
    case "source":
    case "custom":
    case "provider_call":
    case "provider_result":
      return []; // left out: assistant messages hold no files, and provider calls have a special form (see toAISDKPrompt)
    default:
      return part satisfies never;
  }
}

function thinkingBlock(part: ThinkingPart): AnthropicThinking {
  const { signature } = metadataOf(part, "anthropic");
  if (typeof signature === "string") return { type: "thinking", thinking: part.text, signature };
  return { type: "redacted_thinking", data: textField(part, "anthropic", "redactedData") ?? "" };
}

/** Moves calls after text between two thinking blocks, as Claude requires. Thinking blocks keep their positions. */
function callsLast(blocks: readonly AnthropicBlock[]): readonly AnthropicBlock[] {
  return groupAdjacent(blocks, (a, b) => !isThinking(a) && !isThinking(b)).flatMap((group) => [
    ...group.filter(({ type }) => type !== "tool_use"),
    ...group.filter(({ type }) => type === "tool_use"),
  ]);
}

function isThinking({ type }: AnthropicBlock): boolean {
  return type === "thinking" || type === "redacted_thinking";
}

function toolResult(message: ToolMessage): AnthropicToolResult {
  const block = { type: "tool_result" as const, tool_use_id: message.toolCallId };
  const result = toolOutputOf(message);
  switch (result.type) {
    case "text":
      return { ...block, content: result.text };
    case "error": {
      const { error } = result;
      return { ...block, content: typeof error === "string" ? error : JSON.stringify(error), is_error: true };
    }
    case "parts":
      return {
        ...block,
        content: result.parts.map((part) =>
          part.type === "text" ? { type: "text", text: part.text } : anthropicFile(part, "result"),
        ),
      };
    default:
      return result satisfies never;
  }
}

/**
 * Makes a block for an image, a PDF or plain text. The file name becomes the document's title, but results have no
 * titles.
 */
function anthropicFile(part: FileContentPart, place: "message" | "result"): AnthropicFile | AnthropicText {
  const source = sourceOf(part);
  const title = place === "result" || part.filename === undefined ? {} : { title: part.filename };
  if (familyOf(part) === "image") return { type: "image", source: binary(source, mediaTypeOf(part) as ImageType) }; // others are notes already
  if (part.mediaType === "application/pdf") {
    return { type: "document", source: binary(source, part.mediaType), ...title };
  }
  if (part.mediaType === "text/plain") {
    if ("url" in source) return { type: "document", source: { type: "url", url: source.url }, ...title };
    const data = decodeText(source.base64);
    if (data !== undefined) {
      return { type: "document", source: { type: "text", media_type: "text/plain", data }, ...title };
    }
  }
  return { type: "text", text: fileNote(part) };
}

function binary<MediaType>(source: FileSource, mediaType: MediaType): Source<MediaType> {
  return "url" in source
    ? { type: "url", url: source.url }
    : { type: "base64", media_type: mediaType, data: source.base64 };
}
