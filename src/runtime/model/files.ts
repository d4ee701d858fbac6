import type {
  DownloadFunction,
  DownloadLimits,
  DownloadRequest,
  DownloadResult,
} from "../../agent/definition/config.ts";
import type { ProviderModel } from "../../agent/definition/language-model.ts";
import { builtinModule } from "../../thread/builtin-module.ts";
import { HeddleError } from "../../thread/errors.ts";
import type { JsonValue } from "../../thread/json.ts";
import { type FileContentPart, fileNote, type Message, type Part } from "../../thread/message.ts";
import { RequestError } from "../request/request-error.ts";
import { type HookLimit, hookAnswer } from "../time-limits.ts";
import { ModelError } from "./failure.ts";
import { base64Of } from "./provider-values.ts";

/** The fetched files of one request, by URL or blob. Each is fetched once, for all calls of the request. */
export type FetchedFiles = Map<string, Promise<FileOutcome>>;

/** Reads a blob of the store. Undefined if the store does not have it. */
export type ReadBlob = (hash: string) => Promise<JsonValue | Uint8Array | undefined>;

interface FetchedFile {
  readonly base64: string;
  readonly mediaType?: string | undefined;
}

/** The result of fetching a file. `null`: the model downloads the URL itself. */
type FileOutcome = FetchedFile | null | { readonly failure: string };

interface Options {
  readonly download: DownloadFunction | DownloadLimits | undefined;
  readonly readBlob: ReadBlob | undefined;
  readonly fetched: () => FetchedFiles;
  readonly signal: AbortSignal;
  /** How long each function of the caller or of the package may take. */
  readonly limit: HookLimit;
}

interface FetchedMessages {
  readonly messages: readonly Message[];
  readonly warnings: readonly string[];
}

type UrlFile = FileContentPart & { readonly data: { readonly url: string } };
type BlobFile = FileContentPart & { readonly data: { readonly blob: string } };

/**
 * Reads the files that are blobs, and downloads files whose URLs the model cannot read itself. A file that cannot be fetched
 * is an error in the newest user message. In older messages it becomes a note with a warning, so that a dead link does not
 * block the thread.
 */
export async function withFetchedFiles(
  model: ProviderModel,
  messages: readonly Message[],
  options: Options,
): Promise<FetchedMessages> {
  const files = messages.flatMap(filesToFetch);
  if (files.length === 0) return { messages, warnings: [] };
  const known = options.fetched();
  if ("supportedUrls" in model) await download(model.supportedUrls, files.filter(isUrlFile), known, options);
  const { readBlob } = options;
  if (readBlob !== undefined) {
    for (const { data } of files.filter(isBlobFile)) {
      const key = keyOf(data);
      if (!known.has(key)) known.set(key, readFile(data.blob, readBlob));
    }
  }
  const outcomes = new Map<string, FileOutcome>();
  for (const { data } of files) outcomes.set(keyOf(data), (await known.get(keyOf(data))) ?? null);
  return applyOutcomes(messages, outcomes);
}

async function download(
  supportedUrls: unknown,
  files: readonly UrlFile[],
  known: FetchedFiles,
  { download, signal, limit }: Options,
): Promise<void> {
  if (files.length === 0) return;
  const hook = { name: "supportedUrls of the model", code: "file_download_failed" };
  const supported = patternsIn(await hookAnswer(limit, hook, () => supportedUrls));
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
      known.set(url.href, all.then((results) => toOutcome(results[at])).catch(failedOutcome));
    }
  } else {
    for (const request of wanted) {
      const file = request.isUrlSupportedByModel
        ? Promise.resolve(null)
        : downloadFile(request, download).then(toOutcome, failedOutcome);
      known.set(request.url.href, file);
    }
  }
}

function toOutcome(result: DownloadResult | null | undefined): FileOutcome {
  return result ? { base64: base64Of(result.data), mediaType: result.mediaType } : null;
}

/** A blob holds the bytes of a file, or their base64 text. */
async function readFile(hash: string, readBlob: ReadBlob): Promise<FileOutcome> {
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

/** The key of a file in `FetchedFiles`. */
function keyOf(data: UrlFile["data"] | BlobFile["data"]): string {
  return "url" in data ? new URL(data.url).href : `blob:${data.blob}`;
}

const DOWNLOAD = { name: "download", code: "file_download_failed" };

function failedOutcome(error: unknown): FileOutcome {
  const isLate = RequestError.isInstance(error) && error.code === DOWNLOAD.code;
  if (isLate) return { failure: "the function `download` did not answer within hookTimeoutMs" };
  return { failure: error instanceof DownloadFailure ? error.message : "its server could not be reached" };
}

function applyOutcomes(messages: readonly Message[], outcomes: ReadonlyMap<string, FileOutcome>): FetchedMessages {
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
      warnings.push(`a file could not be fetched, and the model gets a note instead: ${outcome.failure}.`);
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
  return part.type === "file" && "url" in part.data && URL.canParse(part.data.url);
}

type Patterns = readonly (readonly [type: string, patterns: readonly unknown[]])[];

function patternsIn(value: unknown): Patterns {
  return Object.entries(Object(value)).map(([type, patterns]) => [type, Array.isArray(patterns) ? patterns : []]);
}

/** Whether the model reads the URL itself. Packages list URLs by media type; "*" and "image/*" match any type and subtype. */
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

const MAX_BYTES = 32 * 1024 * 1024;
const TIMEOUT_MS = 30_000;

const MAX_REDIRECTS = 5;

/** A failed download. The message has only the host of the URL, because the rest may be secret. */
class DownloadFailure extends Error {}

/** Downloads one file within the limits. Redirects are checked like the first URL. */
async function downloadFile(
  { url: first, abortSignal }: Pick<DownloadRequest, "url" | "abortSignal">,
  limits: DownloadLimits = {},
): Promise<DownloadResult> {
  const { maxBytes = MAX_BYTES, timeoutMs = TIMEOUT_MS, allowPrivateAddresses = false } = limits;
  const timeout = AbortSignal.timeout(timeoutMs);
  const signal = abortSignal === undefined ? timeout : AbortSignal.any([timeout, abortSignal]);
  const isData = first.protocol === "data:";
  const get = allowPrivateAddresses || isData ? getAny : getChecked;
  let url = first;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    // The `fetch` of some runtimes reads local files.
    if (!isData && url.protocol !== "https:" && url.protocol !== "http:")
      throw new DownloadFailure(`only http and https are downloaded, not ${url.protocol}`);
    const response = await get(url, signal);
    const location = response.status >= 300 && response.status < 400 ? response.headers.get("location") : null;
    if (location === null) {
      if (!response.ok) throw new DownloadFailure(`${url.host} answered with status ${response.status}`);
      const mediaType = response.headers.get("content-type")?.split(";")[0]?.trim() || undefined;
      return { data: await bytesOf(response, maxBytes), mediaType };
    }
    await response.body?.cancel();
    url = new URL(location, url);
  }
  throw new DownloadFailure(`${first.host} redirected more than ${MAX_REDIRECTS} times`);
}

function getAny(url: URL, signal: AbortSignal): Promise<Response> {
  return fetch(url, { redirect: "manual", signal });
}

/** A name is checked again when the connection looks it up, because its address may have changed since. */
async function getChecked(url: URL, signal: AbortSignal): Promise<Response> {
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const isPrivate = isLiteral(host) ? isPrivateAddress(host) : isLocalName(host);
  if (isPrivate) throw privateAddress(url);
  return getPublic(url, { signal, refuse: (address) => (isPrivateAddress(address) ? privateAddress(url) : undefined) });
}

function privateAddress({ host }: URL): DownloadFailure {
  return new DownloadFailure(`${host} is a private address; set download.allowPrivateAddresses to allow it`);
}

function isLiteral(host: string): boolean {
  return /^[\d.]+$/.test(host) || host.includes(":");
}

function isLocalName(host: string): boolean {
  return /(^|\.)(localhost|local|internal)\.?$/i.test(host);
}

/** Stops at `maxBytes`, also when the headers declare a smaller size. */
async function bytesOf(response: Response, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  const reader = response.body?.getReader();
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done || value === undefined) break;
    size += value.byteLength;
    if (size > maxBytes) {
      await reader?.cancel();
      throw new DownloadFailure(`the file is larger than ${maxBytes} bytes; raise download.maxBytes`);
    }
    chunks.push(value);
  }
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.byteLength;
  }
  return bytes;
}

/** Whether an IP address is not public: loopback, link-local, private, metadata, multicast or unspecified. */
export function isPrivateAddress(address: string): boolean {
  const text = address.split("%")[0]?.toLowerCase() ?? "";
  if (!text.includes(":")) return isPrivateV4(text);
  const groups = groupsOf(text);
  if (groups === undefined) return true; // an unreadable address is refused
  const [first = 0, second = 0] = groups;
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && (groups[5] === 0xffff || groups[5] === 0);
  const isTranslated = first === 0x64 && second === 0xff9b;
  if (isMapped || isTranslated) {
    const [high = 0, low = 0] = groups.slice(6);
    return isPrivateV4([high >> 8, high & 255, low >> 8, low & 255].join("."));
  }
  // Unique local, link-local, site-local, multicast, 6to4.
  return (
    (first & 0xfe00) === 0xfc00 ||
    (first & 0xffc0) === 0xfe80 ||
    (first & 0xffc0) === 0xfec0 ||
    first >= 0xff00 ||
    first === 0x2002
  );
}

function isPrivateV4(text: string): boolean {
  const parts = text.split(".").map(Number);
  const [a = 0, b = 0] = parts;
  if (parts.length !== 4 || parts.some((part) => !Number.isInteger(part) || part < 0 || part > 255)) return true;
  return (
    a === 0 ||
    a === 10 ||
    a === 127 ||
    a >= 224 ||
    (a === 100 && b >= 64 && b < 128) ||
    (a === 169 && b === 254) ||
    (a === 172 && b >= 16 && b < 32) ||
    (a === 192 && (b === 168 || b === 0)) ||
    (a === 198 && (b === 18 || b === 19))
  );
}

/** The eight groups of an IPv6 address. */
function groupsOf(text: string): readonly number[] | undefined {
  const v4 = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(text);
  const [, head = "", a, b, c, d] = v4 ?? [];
  const hex = (high: string | undefined, low: string | undefined): string =>
    ((Number(high) << 8) | Number(low)).toString(16);
  const whole = v4 === null ? text : `${head}${hex(a, b)}:${hex(c, d)}`;
  const [left = "", right, ...others] = whole.split("::");
  if (others.length > 0) return undefined;
  const numbers = (side: string): number[] =>
    side === "" ? [] : side.split(":").map((group) => Number.parseInt(group, 16));
  const [start, end] = [numbers(left), numbers(right ?? "")];
  const zeros = right === undefined ? 0 : 8 - start.length - end.length;
  const groups = [...start, ...Array.from({ length: Math.max(0, zeros) }, () => 0), ...end];
  return groups.length === 8 && groups.every((group) => group >= 0 && group <= 0xffff) ? groups : undefined;
}

interface PublicRequest {
  readonly signal: AbortSignal;
  /** Returns an error if the address must not be requested. */
  readonly refuse: (address: string) => Error | undefined;
}

interface Address {
  readonly address: string;
  readonly family: number;
}

type LookupDone = (error: Error | null, addresses?: readonly Address[]) => void;
type Lookup = (host: string, options: object, done: LookupDone) => void;

/** The used part of `node:http` and `node:https`. Some runtimes do not have these modules. */
interface HttpModule {
  request(url: URL, options: object, done: (response: IncomingResponse) => void): OutgoingRequest;
}

interface OutgoingRequest {
  on(event: "error", listener: (error: Error) => void): void;
  end(): void;
}

interface IncomingResponse extends AsyncIterable<Uint8Array> {
  readonly statusCode?: number;
  readonly headers: { readonly [name: string]: string | readonly string[] | undefined };
  destroy(): void;
}

/**
 * GET without redirects. Addresses are checked in the lookup of the connection itself, so that a name cannot resolve to
 * another address after the check. Without `node:http`, `fetch` is used and addresses are not checked.
 */
export function getPublic(url: URL, { signal, refuse }: PublicRequest): Promise<Response> {
  const http = builtinModule<HttpModule>(url.protocol === "https:" ? "node:https" : "node:http");
  const dns = builtinModule<{ readonly lookup: Lookup }>("node:dns");
  if (http === undefined || dns === undefined) return fetch(url, { redirect: "manual", signal });
  const lookup: Lookup = (host, options, done) =>
    dns.lookup(host, { ...options, all: true }, (error, addresses = []) => {
      const refusal = addresses.map(({ address }) => refuse(address)).find((one) => one !== undefined);
      done(error ?? refusal ?? null, addresses);
    });
  return new Promise((resolve, reject) => {
    const options = { signal, lookup, autoSelectFamily: true, headers: { "accept-encoding": "identity" } };
    const request = http.request(url, options, (response) => resolve(responseOf(response)));
    request.on("error", reject);
    request.end();
  });
}

function responseOf(response: IncomingResponse): Response {
  const { statusCode: status = 500, headers: given } = response;
  const headers = new Headers();
  for (const name of ["content-type", "location"]) {
    const value = given[name];
    if (typeof value === "string") headers.set(name, value);
  }
  const chunks = response[Symbol.asyncIterator]();
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const { done, value } = await chunks.next();
      if (done === true) controller.close();
      else controller.enqueue(new Uint8Array(value));
    },
    cancel: () => response.destroy(),
  });
  const isEmpty = status === 204 || status === 205 || status === 304 || status < 200;
  if (isEmpty) response.destroy();
  return new Response(isEmpty ? null : body, { status: Math.max(200, status), headers });
}
