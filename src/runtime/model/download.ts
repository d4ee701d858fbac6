import type { DownloadLimits, DownloadRequest, DownloadResult } from "../../agent/definition/config.ts";
import { isPrivateAddress } from "./private-address.ts";
import { getPublic } from "./public-request.ts";

const MAX_BYTES = 32 * 1024 * 1024;
const TIMEOUT_MS = 30_000;

const MAX_REDIRECTS = 5;

/** Why a file could not be downloaded; the message names no more of its URL than the host. */
export class DownloadFailure extends Error {}

/** Downloads one file within limits; every redirect is checked as the first URL is. */
export async function downloadFile(
  { url: first, abortSignal }: Pick<DownloadRequest, "url" | "abortSignal">,
  limits: DownloadLimits = {},
): Promise<DownloadResult> {
  const { maxBytes = MAX_BYTES, timeoutMs = TIMEOUT_MS, allowPrivateAddresses = false } = limits;
  const timeout = AbortSignal.timeout(timeoutMs);
  const signal = abortSignal === undefined ? timeout : AbortSignal.any([timeout, abortSignal]);
  const get = allowPrivateAddresses ? getAny : getChecked;
  let url = first;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
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

/** Names are checked when the connection looks them up: a name may have another address by then. */
async function getChecked(url: URL, signal: AbortSignal): Promise<Response> {
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    throw new DownloadFailure(`only http and https are downloaded, not ${url.protocol}`);
  }
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

/** Stops as soon as there is too much, whatever the headers said. */
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
