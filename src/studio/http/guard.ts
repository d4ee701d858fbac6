import type { Access } from "./access.ts";
import { StudioError } from "./error.ts";

export interface GuardOptions {
  /** Allowed values of the Host header. Undefined allows any; use it only with a token. */
  readonly hosts?: readonly string[] | undefined;
  /** Undefined if no token is required. */
  readonly access?: Access | undefined;
}

/**
 * Refuses foreign callers. A page that reaches this address under its own name (DNS rebinding) has another Host. A page of
 * another site has another Origin. Other programs and users of this machine have no token. The token is in a header and
 * not in a cookie, because browsers send cookies to every port of a host.
 */
export function guard(request: Request, url: URL, { hosts, access }: GuardOptions): void {
  if (hosts !== undefined && !hosts.includes(url.host)) throw hostRefused();
  checkOrigin(request, url);
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

/** Paths without a token: the page, which holds no secrets, and the exchange of a code for the token. */
function isOpen({ method }: Request, { pathname }: URL): boolean {
  return !pathname.startsWith("/api/") || (method === "POST" && pathname === "/api/enter");
}

/** A download takes a code instead: a browser that saves a file sends no headers of the page. */
function isDownload({ method }: Request, { pathname }: URL): boolean {
  return method === "GET" && /^\/api\/threads\/[^/]+\/export$/.test(pathname);
}

function bearerOf(request: Request): string | undefined {
  return /^Bearer (.+)$/i.exec(request.headers.get("authorization") ?? "")?.[1];
}

function hostRefused(): StudioError {
  const message = "Refused because of the Host header. Use the address that Studio printed.";
  return new StudioError({ code: "host_refused", status: 403, message });
}

function originRefused(what: string): StudioError {
  const message = `Refused because of ${what}. Only Studio's own page may call this API from a browser.`;
  return new StudioError({ code: "origin_refused", status: 403, message });
}
