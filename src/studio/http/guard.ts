import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { StudioError } from "./response.ts";

export interface GuardOptions {
  /** Allowed values of the Host header. Undefined allows any; use it only with a token. */
  readonly hosts?: readonly string[] | undefined;
  /** Undefined if no token is required. */
  readonly access?: Access | undefined;
}

/**
 * Refuses requests that do not come from Studio's page or a token holder. DNS rebinding (a foreign name that resolves
 * to this machine) shows in the Host header, and another site in the Origin header. Other programs on this machine have
 * no token. The token is a header, because browsers send cookies to every port of a host.
 */
export function guard(request: Request, url: URL, { hosts, access }: GuardOptions): void {
  if (hosts !== undefined && !hosts.includes(url.host)) throw hostRefused();
  checkOrigin(request, url);
  checkAccess(request, url, access);
  checkContentType(request, url);
}

function checkAccess(request: Request, url: URL, access: Access | undefined): void {
  if (access === undefined || isOpen(request, url) || access.isToken(bearerOf(request))) return;
  const code = url.searchParams.get("code");
  if (code !== null && isDownload(request, url) && access.redeem(code)) return;
  const message =
    "A token is required. Send `Authorization: Bearer <token>`; Studio printed the token when it started.";
  throw new StudioError({ code: "unauthorized", status: 401, message });
}

function checkOrigin(request: Request, url: URL): void {
  const origin = request.headers.get("origin");
  const site = request.headers.get("sec-fetch-site");
  if (site === "cross-site" && request.headers.get("sec-fetch-mode") !== "navigate")
    throw originRefused("Sec-Fetch-Site");
  if (origin === null) return;
  const host = /^https?:\/\/([^/]+)$/.exec(origin)?.[1];
  if (host !== url.host) throw originRefused("the Origin header");
}

const JSON_TYPE = /^application\/json\s*(;|$)/i;
/** An import is a file. A form of another site cannot send these types either. */
const FILE_TYPE = /^application\/(json|jsonl|x-ndjson|octet-stream)\s*(;|$)/i;

/** A form of another site can send other types without asking first. So also an empty body needs the header. */
function checkContentType({ method, headers }: Request, { pathname }: URL): void {
  if (method !== "POST" || !pathname.startsWith("/api/")) return;
  const isFile = pathname === "/api/import";
  if ((isFile ? FILE_TYPE : JSON_TYPE).test(headers.get("content-type") ?? "")) return;
  const types = isFile ? "application/json, application/jsonl or application/octet-stream" : "application/json";
  const message = `Send the header \`content-type: ${types}\` with every POST.`;
  throw new StudioError({ code: "content_type_refused", status: 415, message });
}

/** Paths that need no token: the page, which holds no secrets, and the exchange of a code for the token. */
function isOpen({ method }: Request, { pathname }: URL): boolean {
  return !pathname.startsWith("/api/") || (method === "POST" && pathname === "/api/enter");
}

/** A download is authorized by a code, because a browser that saves a file cannot send the token header. */
function isDownload({ method }: Request, { pathname }: URL): boolean {
  return method === "GET" && /^\/api\/threads\/[^/]+\/export$/.test(pathname);
}

export function bearerOf(request: Request): string | undefined {
  return /^Bearer (.+)$/i.exec(request.headers.get("authorization") ?? "")?.[1];
}

function hostRefused(): StudioError {
  const message =
    "Refused because of the Host header. Use the address that Studio printed, or allow the name with `hosts` (--hosts).";
  return new StudioError({ code: "host_refused", status: 403, message });
}

function originRefused(what: string): StudioError {
  const message = `Refused because of ${what}. Only Studio's own page may call this API from a browser.`;
  return new StudioError({ code: "origin_refused", status: 403, message });
}

/** The largest number of unused codes. Above it, the oldest code becomes invalid. */
const MAX_CODES = 1000;

/** Grants access to the API by the token, or by a one-time code. */
export class Access {
  readonly token: string;
  readonly #codes = new Set<string>();

  constructor(token: string) {
    this.token = token;
  }

  isToken(given: string | undefined): boolean {
    return given !== undefined && isSame(given, this.token);
  }

  /** Makes a one-time code for a URL. It works only once, because URLs stay in browser histories and logs. */
  mintCode(): string {
    const code = randomSecret();
    this.#codes.add(code);
    const [oldest] = this.#codes;
    if (this.#codes.size > MAX_CODES && oldest !== undefined) this.#codes.delete(oldest);
    return code;
  }

  /** Returns whether the code was valid. It is invalid afterwards. */
  redeem(code: string): boolean {
    return this.#codes.delete(code);
  }
}

export function randomSecret(): string {
  return randomBytes(24).toString("base64url");
}

/** Compares in constant time, so that response times reveal nothing about the token. */
function isSame(a: string, b: string): boolean {
  const hash = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(hash(a), hash(b));
}
