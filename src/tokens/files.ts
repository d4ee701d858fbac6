import type { FilePart } from "../thread/message.ts";

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
const PDF_PAGE = 2000;
const AUDIO_SECOND = 32;
const VIDEO_SECOND = 300;

/**
 * The tokens of a file: by `width` and `height`, `pages` or `seconds` in its metadata (under any provider), else by kind.
 * Text files return 0 here, because their text is counted with the message.
 *
 * @example
 * const metadata = { heddle: { width: 300, height: 250 } };
 * fileTokens({ type: "file", mediaType: "image/png", data: { url: "https://example.com/a.png" }, metadata }); // 100
 */
export function fileTokens(part: FilePart): number {
  switch (kindOf(part.mediaType)) {
    case "image":
      return imageTokens(factOf(part, "width"), factOf(part, "height"));
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
export function textOfFile({ mediaType, data }: FilePart): string | undefined {
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

function imageTokens(width: number | undefined, height: number | undefined): number {
  if (width === undefined || height === undefined) return FILE_TOKENS.image;
  return Math.min(FILE_TOKENS.image, Math.max(LEAST_IMAGE, Math.ceil((width * height) / PIXELS_PER_TOKEN)));
}

function scaled(amount: number | undefined, tokens: number): number | undefined {
  return amount === undefined ? undefined : Math.ceil(amount * tokens);
}

/** A positive number in the file's metadata, under any provider. */
function factOf({ metadata }: FilePart, name: string): number | undefined {
  for (const facts of Object.values(metadata ?? {})) {
    const fact = facts[name];
    if (typeof fact === "number" && fact > 0 && Number.isFinite(fact)) return fact;
  }
  return undefined;
}
