import type { DownloadFunction, DownloadLimits, DownloadResult } from "../../agent/definition/config.ts";
import type { ProviderModel } from "../../agent/definition/language-model.ts";
import { type FileContentPart, fileNote, type Message, type Part } from "../../thread/message.ts";
import { DownloadFailure, downloadFile } from "./download.ts";
import { ModelError } from "./error.ts";
import { base64Of } from "./spec/bytes.ts";

/** What was downloaded for one request, by URL: each file once, however many calls there are. */
export type Downloads = Map<string, Promise<Outcome>>;

/** `null`: the model takes the URL itself. */
type Outcome = DownloadResult | null | { readonly failure: string };

interface Options {
  readonly download: DownloadFunction | DownloadLimits | undefined;
  readonly known: Downloads;
  readonly signal: AbortSignal;
}

interface Resolved {
  readonly messages: readonly Message[];
  readonly warnings: readonly string[];
}

type UrlFile = FileContentPart & { readonly data: { readonly url: string } };

/**
 * Downloads the files whose URLs the model does not take. One that cannot be had is an error in the newest user message, and
 * a note with a warning anywhere else, so that a dead link does not end a thread.
 */
export async function withDownloads(
  model: ProviderModel,
  messages: readonly Message[],
  { download, known, signal }: Options,
): Promise<Resolved> {
  const files = messages.flatMap(urlFilesOf);
  if (files.length === 0 || !("supportedUrls" in model)) return { messages, warnings: [] };
  const supported = patternsIn(await model.supportedUrls);
  const wanted = [...new Map(files.map((file) => [file.data.url, file])).values()]
    .filter(({ data }) => !known.has(data.url))
    .map((file) => ({
      url: new URL(file.data.url),
      isUrlSupportedByModel: isSupported(file, supported),
      abortSignal: signal,
    }));
  if (typeof download === "function") {
    const all = wanted.length === 0 ? Promise.resolve([]) : Promise.resolve().then(() => download(wanted));
    for (const [at, { url }] of wanted.entries()) {
      known.set(url.href, all.then((results) => results[at] ?? null).catch(failed));
    }
  } else {
    for (const request of wanted) {
      const file = request.isUrlSupportedByModel
        ? Promise.resolve(null)
        : downloadFile(request, download).catch(failed);
      known.set(request.url.href, file);
    }
  }
  const outcomes = new Map<string, Outcome>();
  for (const { data } of files) outcomes.set(data.url, (await known.get(new URL(data.url).href)) ?? null);
  return resolved(messages, outcomes);
}

function failed(error: unknown): Outcome {
  return { failure: error instanceof DownloadFailure ? error.message : "its server could not be reached" };
}

function resolved(messages: readonly Message[], outcomes: ReadonlyMap<string, Outcome>): Resolved {
  const warnings: string[] = [];
  const ask = messages.findLastIndex(({ role }) => role === "user");
  const list = messages.map((message, index): Message => {
    if (message.role === "system" || urlFilesOf(message).length === 0) return message;
    const parts = typeof message.content === "string" ? [] : message.content;
    const content = parts.map((part): Part => {
      const outcome = isUrlFile(part) ? outcomes.get(part.data.url) : undefined;
      if (part.type !== "file" || outcome === undefined || outcome === null) return part;
      if (!("failure" in outcome)) return withBytes(part, outcome);
      if (index === ask) throw unavailable(outcome.failure);
      warnings.push(`a file could not be downloaded, and a note stands in its place: ${outcome.failure}.`);
      return { type: "text", text: fileNote(part) };
    });
    return { ...message, content };
  });
  return { messages: list, warnings };
}

function withBytes(part: FileContentPart, { data, mediaType }: DownloadResult): FileContentPart {
  const isWhole = /^[^/*]+\/[^/*]+$/.test(part.mediaType);
  return {
    ...part,
    mediaType: isWhole ? part.mediaType : (mediaType ?? part.mediaType),
    data: { base64: base64Of(data) },
  };
}

function unavailable(why: string): ModelError {
  return new ModelError({
    code: "file_download_failed",
    message: `A file of the ask could not be downloaded: ${why}. The model does not take its URL; send the bytes instead.`,
  });
}

function urlFilesOf({ content }: Message): readonly UrlFile[] {
  return typeof content === "string" ? [] : content.filter(isUrlFile);
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
