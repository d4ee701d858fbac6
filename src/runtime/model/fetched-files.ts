import type { DownloadFunction, DownloadLimits, DownloadResult } from "../../agent/definition/config.ts";
import type { ProviderModel } from "../../agent/definition/language-model.ts";
import { HeddleError } from "../../thread/errors.ts";
import type { JsonValue } from "../../thread/json.ts";
import { type FileContentPart, fileNote, type Message, type Part } from "../../thread/message.ts";
import { type HookLimit, hookAnswer } from "../hook.ts";
import { RequestError } from "../request/request-error.ts";
import { DownloadFailure, downloadFile } from "./download.ts";
import { ModelError } from "./error.ts";
import { base64Of } from "./spec/bytes.ts";

/** The files that were fetched for one request, by URL or blob: each once, however many calls there are. */
export type FetchedFiles = Map<string, Promise<Outcome>>;

/** The content of a blob of the store. Undefined when there is none. */
export type ReadBlob = (hash: string) => Promise<JsonValue | Uint8Array | undefined>;

interface FetchedFile {
  readonly base64: string;
  readonly mediaType?: string | undefined;
}

/** `null`: the model takes the URL itself. */
type Outcome = FetchedFile | null | { readonly failure: string };

interface Options {
  readonly download: DownloadFunction | DownloadLimits | undefined;
  readonly readBlob: ReadBlob | undefined;
  readonly known: FetchedFiles;
  readonly signal: AbortSignal;
  /** For functions of the caller and the package. */
  readonly limit: HookLimit;
}

interface Resolved {
  readonly messages: readonly Message[];
  readonly warnings: readonly string[];
}

type UrlFile = FileContentPart & { readonly data: { readonly url: string } };
type BlobFile = FileContentPart & { readonly data: { readonly blob: string } };

/**
 * Reads the files that are blobs, and downloads those whose URLs the model does not take. A file that cannot be fetched is an
 * error in the newest user message, and a note with a warning anywhere else, so that a dead link does not end a thread.
 */
export async function withFetchedFiles(
  model: ProviderModel,
  messages: readonly Message[],
  options: Options,
): Promise<Resolved> {
  const files = messages.flatMap(filesToFetch);
  if (files.length === 0) return { messages, warnings: [] };
  if ("supportedUrls" in model) await download(model.supportedUrls, files.filter(isUrlFile), options);
  const { known, readBlob } = options;
  if (readBlob !== undefined) {
    for (const { data } of files.filter(isBlobFile)) {
      const key = keyOf(data);
      if (!known.has(key)) known.set(key, readFile(data.blob, readBlob));
    }
  }
  const outcomes = new Map<string, Outcome>();
  for (const { data } of files) outcomes.set(keyOf(data), (await known.get(keyOf(data))) ?? null);
  return resolved(messages, outcomes);
}

async function download(
  supportedUrls: unknown,
  files: readonly UrlFile[],
  { download, known, signal, limit }: Options,
): Promise<void> {
  if (files.length === 0) return;
  const asked = { name: "supportedUrls of the model", code: "file_download_failed" };
  const supported = patternsIn(await hookAnswer(limit, asked, () => supportedUrls));
  const wanted = [...new Map(files.map((file) => [file.data.url, file])).values()]
    .filter(({ data }) => !known.has(data.url))
    .map((file) => ({
      url: new URL(file.data.url),
      isUrlSupportedByModel: isSupported(file, supported),
      abortSignal: signal,
    }));
  if (typeof download === "function") {
    const all = wanted.length === 0 ? Promise.resolve([]) : hookAnswer(limit, DOWNLOAD, () => download(wanted));
    for (const [at, { url }] of wanted.entries()) {
      known.set(url.href, all.then((results) => toOutcome(results[at])).catch(failed));
    }
  } else {
    for (const request of wanted) {
      const file = request.isUrlSupportedByModel
        ? Promise.resolve(null)
        : downloadFile(request, download).then(toOutcome, failed);
      known.set(request.url.href, file);
    }
  }
}

function toOutcome(result: DownloadResult | null | undefined): Outcome {
  return result ? { base64: base64Of(result.data), mediaType: result.mediaType } : null;
}

/** `putBlob` takes the bytes of a file, or their base64 text. */
async function readFile(hash: string, readBlob: ReadBlob): Promise<Outcome> {
  try {
    const content = await readBlob(hash);
    if (content instanceof Uint8Array) return { base64: base64Of(content) };
    if (typeof content === "string") return { base64: content };
    return { failure: `the store has no file with the hash ${hash}` };
  } catch (error) {
    const why = HeddleError.isInstance(error) ? error.message : "its store failed";
    return { failure: `the blob ${hash} could not be read: ${why}` };
  }
}

/** The name of a file among those that were fetched. */
function keyOf(data: UrlFile["data"] | BlobFile["data"]): string {
  return "url" in data ? new URL(data.url).href : `blob:${data.blob}`;
}

const DOWNLOAD = { name: "download", code: "file_download_failed" };

function failed(error: unknown): Outcome {
  const isLate = RequestError.isInstance(error) && error.code === DOWNLOAD.code;
  if (isLate) return { failure: "the function `download` did not answer within hookTimeoutMs" };
  return { failure: error instanceof DownloadFailure ? error.message : "its server could not be reached" };
}

function resolved(messages: readonly Message[], outcomes: ReadonlyMap<string, Outcome>): Resolved {
  const warnings: string[] = [];
  const ask = messages.findLastIndex(({ role }) => role === "user");
  const list = messages.map((message, index): Message => {
    if (message.role === "system" || filesToFetch(message).length === 0) return message;
    const parts = typeof message.content === "string" ? [] : message.content;
    const content = parts.map((part): Part => {
      const outcome = isUrlFile(part) || isBlobFile(part) ? outcomes.get(keyOf(part.data)) : undefined;
      if (part.type !== "file" || outcome === undefined || outcome === null) return part;
      if (!("failure" in outcome)) return withBytes(part, outcome);
      if (index === ask) throw unavailable(outcome.failure);
      warnings.push(`a file could not be fetched, and a note stands in its place: ${outcome.failure}.`);
      return { type: "text", text: fileNote(part) };
    });
    return { ...message, content };
  });
  return { messages: list, warnings };
}

function withBytes(part: FileContentPart, { base64, mediaType }: FetchedFile): FileContentPart {
  const isWhole = /^[^/*]+\/[^/*]+$/.test(part.mediaType);
  return {
    ...part,
    mediaType: isWhole ? part.mediaType : (mediaType ?? part.mediaType),
    data: { base64 },
  };
}

function unavailable(why: string): ModelError {
  return new ModelError({
    code: "file_download_failed",
    message: `A file of the ask could not be fetched: ${why}. Send the bytes instead.`,
  });
}

function filesToFetch({ content }: Message): readonly (UrlFile | BlobFile)[] {
  return typeof content === "string" ? [] : content.filter((part) => isUrlFile(part) || isBlobFile(part));
}

function isBlobFile(part: Part): part is BlobFile {
  return part.type === "file" && "blob" in part.data;
}

function isUrlFile(part: Part): part is UrlFile {
  return part.type === "file" && "url" in part.data && /^https?:/i.test(part.data.url) && URL.canParse(part.data.url);
}

type Patterns = readonly (readonly [type: string, patterns: readonly unknown[]])[];

function patternsIn(value: unknown): Patterns {
  return Object.entries(Object(value)).map(([type, patterns]) => [type, Array.isArray(patterns) ? patterns : []]);
}

/** Packages say it by media type: "*" and the end of "image/*" stand for any. */
function isSupported({ mediaType, data: { url } }: UrlFile, supported: Patterns): boolean {
  const type = mediaType.toLowerCase();
  return supported.some(([key, patterns]) => {
    const prefix = key === "*" || key === "*/*" ? "" : key.toLowerCase().replace("*", "");
    const isOfType = prefix === "" || (prefix.endsWith("/") ? `${type}/`.startsWith(prefix) : type === prefix);
    return (
      isOfType &&
      patterns.some(
        (pattern) =>
          pattern instanceof RegExp && new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, "")).test(url),
      )
    );
  });
}
