import { createHash, timingSafeEqual } from "node:crypto";
import { StudioError } from "./error.ts";
import { SAFE } from "./reply.ts";

export interface GuardOptions {
  /** What the Host header may say; undefined is anything, for where a token is asked for. */
  readonly hosts?: readonly string[] | undefined;
  readonly token?: string | undefined;
}

/** Cookies know no ports, and there may be a Studio on each. */
function cookieName({ port }: URL): string {
  return `heddle_token_${port || "80"}`;
}

/**
 * Lets nobody in but who is meant: a page of another site that reaches this address under a name of its own has another
 * Host, one that calls it has another Origin, and whoever else is on the network has no token. Answers a redirect where
 * somebody brings the token in the address for the first time.
 */
export function guarded(request: Request, url: URL, { hosts, token }: GuardOptions): Response | undefined {
  if (hosts !== undefined && !hosts.includes(url.host)) throw hostRefused();
  checkOrigin(request, url);
  if (token === undefined) return undefined;
  const given = url.searchParams.get("token");
  if (given !== null && request.method === "GET" && !url.pathname.startsWith("/api/")) {
    if (isSame(given, token)) return remembered(token, url);
  } else if (isOpen(url) || [bearerOf(request), cookieOf(request, url)].some((one) => isSame(one ?? "", token)))
    return undefined;
  const message = "A token is needed: send it as `Authorization: Bearer`, or open the address that was printed.";
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

/** The page itself holds no secrets; without a token it can ask for one. */
function isOpen({ pathname }: URL): boolean {
  return !pathname.startsWith("/api/");
}

function bearerOf(request: Request): string | undefined {
  return /^Bearer (.+)$/i.exec(request.headers.get("authorization") ?? "")?.[1];
}

/** An event stream in a browser cannot send headers; a cookie it does. */
function cookieOf(request: Request, url: URL): string | undefined {
  const cookies = (request.headers.get("cookie") ?? "").split(/; */);
  return cookies.find((cookie) => cookie.startsWith(`${cookieName(url)}=`))?.slice(cookieName(url).length + 1);
}

function remembered(token: string, url: URL): Response {
  const cookie = `${cookieName(url)}=${token}; Path=/; HttpOnly; SameSite=Strict`;
  return new Response(null, { status: 303, headers: { ...SAFE, location: url.pathname, "set-cookie": cookie } });
}

/** Takes as long for a guess that is nearly right. */
function isSame(a: string, b: string): boolean {
  const hash = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(hash(a), hash(b));
}

function hostRefused(): StudioError {
  const message = "This call is refused because of the Host header. Use the address that Studio printed.";
  return new StudioError({ code: "host_refused", status: 403, message });
}

function originRefused(what: string): StudioError {
  const message = `This call is refused because of ${what}. Only Studio's own page may call it.`;
  return new StudioError({ code: "origin_refused", status: 403, message });
}
