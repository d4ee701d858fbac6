import { utf8Length } from "../thread/encoding.ts";
import { HeddleError, ignoreRejection } from "../thread/errors.ts";
import type { Content, FileContentPart, Message, Part, PartMetadata, ToolSpec } from "../thread/message.ts";

/**
 * Counts the tokens of texts. Only `count` is required.
 *
 * `count` is called often and with texts of any length, including empty ones. It must be synchronous and pure: the same text
 * and model give the same number. Load its data beforehand. A fraction is rounded up. A value that is not a number of at
 * least 0 throws an error with code `invalid_token_count`. Errors of `count` reach the caller unchanged.
 *
 * @example
 * const words = { count: (text: string) => text.split(/\s+/).length * 2 };
 * countMessage({ role: "user", content: "two words" }, words); // 4 + 10
 */
export interface TokenCounter {
  count(text: string, model?: string): number;
  /** Recorded with each call. Default "custom". */
  readonly id?: string | undefined;
  /** Change it whenever counts change. Default "0". */
  readonly version?: string | undefined;
  /** The tokens of a message besides its content. Default 10. */
  readonly perMessage?: number | undefined;
  /** The factor already included in `count`. The constants of messages and files are multiplied by it too. Default 1. */
  readonly factor?: number | undefined;
}

/** The complete facts of a counter, as recorded with a call. */
export interface CounterFacts {
  readonly id: string;
  readonly version: string;
  readonly perMessage: number;
  readonly factor: number;
}

/** The default of `perMessage`. */
const PER_MESSAGE = 10;

/**
 * The facts of a counter, with the defaults filled in.
 *
 * @example
 * factsOf({ count: (text) => text.length }); // { id: "custom", version: "0", perMessage: 10, factor: 1 }
 */
export function factsOf(counter: TokenCounter): CounterFacts {
  const { id = "custom", version = "0", perMessage = PER_MESSAGE, factor = 1 } = counter;
  return {
    id,
    version,
    perMessage: checkAmount(perMessage, id, "perMessage"),
    factor: checkAmount(factor, id, "factor"),
  };
}

/** The tokens of one text by any counter, always a whole number of at least 0. */
export function countText(text: string, counter: TokenCounter, model?: string): number {
  return Math.ceil(checkAmount(counter.count(text, model), counter.id ?? "custom", "count"));
}

/** A single NaN would make every budget comparison false and hide an overflow. */
function checkAmount(amount: unknown, id: string, what: string): number {
  if (typeof amount === "number" && amount >= 0 && amount < Number.MAX_SAFE_INTEGER) return amount;
  ignoreRejection(amount);
  const given = typeof amount === "number" ? amount : `a ${typeof amount}`;
  const message = `The token counter "${id}" returned ${given} as ${what}. It must be a number of at least 0.`;
  throw new HeddleError({ code: "invalid_token_count", message });
}

/**
 * A quarter of the UTF-8 bytes, rounded down, and 10 for each message. It needs no data and gives the same counts
 * everywhere. Plain English has fewer tokens than this. JSON, emoji and especially base64 have more; calibration corrects it.
 *
 * @example
 * heuristic.count("What's the weather in Bern?"); // 6
 */
export const heuristic: TokenCounter = Object.freeze({
  id: "heuristic",
  version: "1",
  perMessage: PER_MESSAGE,
  count: (text: string) => Math.floor(utf8Length(text) / 4),
});

/**
 * The tokens of a whole message: texts, thinking with its encrypted data, names, ids, arguments, results, files.
 *
 * @example
 * countMessage({ role: "user", content: "What's 2+2?" }, heuristic); // 2 + 10
 */
export function countMessage(message: Message, counter: TokenCounter, model?: string): number {
  return (
    countReadable(message, counter, model, true) + Math.round(reasoningDataTokens(message) * factsOf(counter).factor)
  );
}

/** `countMessage` without the reasoning data and the headers of images, as projector `heddle/1` counts. */
export function countReadable(message: Message, counter: TokenCounter, model?: string, readsHeaders = false): number {
  const { perMessage, factor } = factsOf(counter);
  const fixed = messageFiles(message).reduce((sum, file) => sum + fileTokens(file, readsHeaders), perMessage);
  return countText(messageText(message), counter, model) + Math.round(fixed * factor);
}

/**
 * The tokens of a tool's description for the model: name, description and input schema.
 *
 * @example
 * countTool({ name: "now", inputSchema: { type: "object" } }, heuristic); // 5
 */
export function countTool(spec: ToolSpec, counter: TokenCounter, model?: string): number {
  return countText(toolText(spec), counter, model);
}

/** The tokens of all tools of a request. */
export function countTools(specs: readonly ToolSpec[], counter: TokenCounter, model?: string): number {
  return specs.reduce((sum, spec) => sum + countTool(spec, counter, model), 0);
}

/** The metadata fields with signatures and encrypted reasoning, in base64. */
const FIELDS = ["signature", "redactedData", "reasoningEncryptedContent", "thoughtSignature"] as const;

/** Base64 has 4 characters for 3 bytes, and a token is about 4 bytes of text. Tokenizers would count the base64 itself. */
const TOKENS_PER_CHARACTER = 3 / 16;

/**
 * The tokens of encrypted or signed reasoning beyond its readable text. The text is the whole reasoning or a summary of it,
 * so the provider counts the larger of the two.
 */
function reasoningDataTokens(message: Message): number {
  if (message.role !== "assistant") return 0;
  const parts = typeof message.content === "string" ? [] : message.content;
  const inParts = parts.reduce((sum, part) => {
    const readable = part.type === "thinking" ? Math.floor(utf8Length(part.text) / 4) : 0;
    return sum + Math.max(0, dataTokens(part.metadata) - readable);
  }, 0);
  return (message.toolCalls ?? []).reduce((sum, { metadata }) => sum + dataTokens(metadata), inParts);
}

function dataTokens(metadata: PartMetadata | undefined): number {
  let characters = 0;
  for (const ofProvider of Object.values(metadata ?? {})) {
    for (const field of FIELDS) {
      const data = ofProvider[field];
      if (typeof data === "string") characters += data.length;
    }
  }
  return Math.floor(characters * TOKENS_PER_CHARACTER);
}

/**
 * All text of a message that a model reads, in order: texts, thinking, names, ids, arguments and results as JSON. A line
 * break between two pieces represents the structure a provider adds.
 */
function messageText(message: Message): string {
  switch (message.role) {
    case "system":
      return message.content;
    case "user":
      return join(piecesOf(message.content));
    case "assistant":
      return join([
        ...piecesOf(message.content),
        ...(message.toolCalls ?? []).flatMap((call) => [call.id, call.name, JSON.stringify(call.arguments)]),
      ]);
    case "tool":
      return join([message.toolCallId, message.name, ...piecesOf(message.content)]);
    default:
      return message satisfies never;
  }
}

/** The description of a tool for the model, as text. */
function toolText(spec: ToolSpec): string {
  return join([spec.name, spec.description ?? "", JSON.stringify(spec.inputSchema)]);
}

/** The files of a message, which have no text to count. */
export function messageFiles({ content }: Pick<Message, "content">): readonly FileContentPart[] {
  return typeof content === "string" ? [] : content.filter((part) => part.type === "file");
}

function piecesOf(content: Content): readonly string[] {
  return typeof content === "string" ? [content] : content.flatMap(piecesOfPart);
}

function piecesOfPart(part: Part): readonly string[] {
  switch (part.type) {
    case "text":
    case "thinking":
      return [part.text];
    case "file":
      return [part.filename ?? "", textOfFile(part) ?? ""];
    case "source":
    case "custom": {
      const { type: _type, metadata: _metadata, ...rest } = part;
      return [JSON.stringify(rest)];
    }
    case "provider_call":
      return [part.id, part.name, JSON.stringify(part.arguments)];
    case "provider_result":
      return [part.id, part.name, JSON.stringify(part.result)];
    case "tool_call":
      return []; // only a place; the call is in toolCalls
    default:
      return part satisfies never;
  }
}

function join(pieces: readonly string[]): string {
  return pieces.filter((piece) => piece !== "").join("\n");
}

/**
 * Default tokens of a file by kind. Each provider scales, samples or reads files in its own way, independent of the length
 * of the base64 text. These numbers are at the high end of what providers charge.
 */
export const FILE_TOKENS = {
  /** An image scaled down to 1.15 megapixels, as most providers do. */
  image: 1600,
  /** A minute at 32 tokens a second. */
  audio: 1920,
  /** A minute at 300 tokens a second: one frame and the sound. */
  video: 18_000,
  /** Five pages. */
  pdf: 10_000,
  other: 2000,
} as const;

const PIXELS_PER_TOKEN = 750;
const LEAST_IMAGE = 85;
/** One tile of Gemini, which counts the most for an image without a side of more than 384 pixels. */
const SMALL_IMAGE = 258;
/** The header, in base64, of a PNG with sides of less than 256 pixels: the higher bytes of width and height are zero. */
const SMALL_IMAGE_HEADER = /^iVBORw0K.{14}AAA[A-P].AAA[A-D]/;
const PDF_PAGE = 2000;
const AUDIO_SECOND = 32;
const VIDEO_SECOND = 300;

/**
 * The tokens of a file: by `width` and `height`, `pages` or `seconds` in its metadata (under any provider), else by its
 * header or kind. Text files return 0 here, because their text is counted with the message.
 *
 * @example
 * const metadata = { heddle: { width: 300, height: 250 } };
 * fileTokens({ type: "file", mediaType: "image/png", data: { url: "https://example.com/a.png" }, metadata }); // 100
 */
export function fileTokens(part: FileContentPart, readsHeader = true): number {
  switch (kindOf(part.mediaType)) {
    case "image":
      return imageTokens(part, readsHeader);
    case "audio":
      return scaled(factOf(part, "seconds"), AUDIO_SECOND) ?? FILE_TOKENS.audio;
    case "video":
      return scaled(factOf(part, "seconds"), VIDEO_SECOND) ?? FILE_TOKENS.video;
    case "pdf":
      return scaled(factOf(part, "pages"), PDF_PAGE) ?? FILE_TOKENS.pdf;
    case "text":
      return textOfFile(part) === undefined ? FILE_TOKENS.other : 0;
    case "other":
      return FILE_TOKENS.other;
  }
}

/** The text of a text file with inline data. Providers give it to the model unchanged. */
function textOfFile({ mediaType, data }: FileContentPart): string | undefined {
  if (kindOf(mediaType) !== "text" || !("base64" in data)) return undefined;
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(data.base64), (byte) => byte.charCodeAt(0)));
  } catch {
    return undefined; // not base64; the provider reports it
  }
}

type FileKind = "image" | "audio" | "video" | "pdf" | "text" | "other";

function kindOf(mediaType: string): FileKind {
  const type = mediaType.toLowerCase();
  const family = /^(image|audio|video|text)(\/|$)/.exec(type)?.[1];
  if (family === "image" || family === "audio" || family === "video" || family === "text") return family;
  if (type.startsWith("application/pdf")) return "pdf";
  return /^application\/(.+\+)?(json|xml|yaml|javascript)\b/.test(type) ? "text" : "other";
}

function imageTokens(part: FileContentPart, readsHeader: boolean): number {
  const { data } = part;
  const width = factOf(part, "width");
  const height = factOf(part, "height");
  if (width !== undefined && height !== undefined)
    return Math.min(FILE_TOKENS.image, Math.max(LEAST_IMAGE, Math.ceil((width * height) / PIXELS_PER_TOKEN)));
  return readsHeader && "base64" in data && SMALL_IMAGE_HEADER.test(data.base64) ? SMALL_IMAGE : FILE_TOKENS.image;
}

function scaled(amount: number | undefined, tokens: number): number | undefined {
  return amount === undefined ? undefined : Math.ceil(amount * tokens);
}

/** A positive number in the file's metadata, under any provider. */
function factOf({ metadata }: FileContentPart, name: string): number | undefined {
  for (const facts of Object.values(metadata ?? {})) {
    const fact = facts[name];
    if (typeof fact === "number" && fact > 0 && Number.isFinite(fact)) return fact;
  }
  return undefined;
}
