import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { hostname } from "node:os";
import type { AnyAgent } from "../agent/definition/config.ts";
import { systemWarn } from "../runtime/callbacks.ts";
import { refuseUnknownOptions } from "../thread/options.ts";
import { handlerOf } from "./handler.ts";
import { randomSecret } from "./http/guard.ts";
import { errorResponse, StudioError } from "./http/response.ts";
import { checkStudioOptions, type RunningStudio, type StartOptions } from "./options.ts";

/** The headers of a request must arrive in this time, and all of it in the other. An import may be long. */
export const LIMITS = { headersTimeout: 15_000, requestTimeout: 15 * 60_000, connectionsCheckingInterval: 5000 };
/** How long the body of a request may pause, in milliseconds. */
const MAX_PAUSE_MS = 30_000;

/** Names and addresses that only this machine reaches. */
export const LOOPBACK: RegExp = /^(localhost|127(\.\d{1,3}){3}|::1)$/;

/**
 * Starts Studio: a page and an API for the threads of a store. It listens only on this machine unless you set `host`. The API
 * requires `token`, because other users and web pages of this machine can reach the port. `url` works once, in one browser,
 * which keeps the token.
 *
 * @example
 * const studio = await startStudio({ store: memoryStore(), port: 0 });
 * const headers = { authorization: `Bearer ${studio.token}` };
 * const info = await fetch(new URL("/api/info", studio.url), { headers });
 * console.log(info.status); // 200
 * await studio.stop();
 */
export async function startStudio<Agent extends AnyAgent = AnyAgent>(
  given?: StartOptions<Agent>,
): Promise<RunningStudio> {
  const options = (given ?? {}) as StartOptions; // the context is of the agent
  checkStudioOptions("startStudio", options, { port: true, host: true });
  const { port = 4747, host = "127.0.0.1" } = options;
  const isLocal = LOOPBACK.test(host);
  const token = options.token ?? randomSecret();
  const server = createServer(LIMITS);
  // Opens the port before resuming. Only the process that has the port may resume the requests of a killed Studio.
  const bound = await listening(server, port, host);
  try {
    const hosts = isLocal ? [...(options.hosts ?? []), ...localHosts(bound, host)] : options.hosts;
    const { port: _port, host: _host, ...own } = options;
    const handle = await handlerOf("startStudio", { ...own, token }, { hosts: () => hosts });
    server.on("request", listener(handle, isLocal ? `localhost:${bound}` : `${host}:${bound}`));
    if (!isLocal) (options.warn ?? systemWarn)(plainHttp(host));
    handle.resumeInterrupted(holderName(host, bound)).catch(() => undefined); // ignored: the first API call reports an unreadable store
    const stop: RunningStudio["stop"] = async (options = {}) => {
      refuseUnknownOptions("stop", options, { graceMs: true });
      const closed = closing(server);
      await handle.stop(options);
      server.closeAllConnections();
      await closed;
    };
    return {
      url: urlOf(host, bound, handle.mintCode()),
      token,
      port: bound,
      stop,
      [Symbol.asyncDispose]: () => stop(),
    };
  } catch (error) {
    await closing(server);
    throw error;
  }
}

function plainHttp(host: string): string {
  const risk = "Others in the network can read the token and the threads.";
  return `Studio serves ${host} over plain http. ${risk} Put TLS in front of it, or listen on 127.0.0.1.`;
}

export function listening(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => reject(notListening(error, port, host)));
    server.listen(port, host, () => resolve((server.address() as AddressInfo).port)); // a server that listens on a port has an `AddressInfo`
  });
}

export function closing(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeIdleConnections();
  });
}

function localHosts(port: number, host: string): readonly string[] {
  const names = ["localhost", "127.0.0.1", "[::1]", host.includes(":") ? `[${host}]` : host];
  return names.flatMap((name) => (port === 80 ? [name, `${name}:80`] : [`${name}:${port}`]));
}

function urlOf(host: string, port: number, code: string): string {
  const name = host === "0.0.0.0" || host === "::" ? hostname() : host.includes(":") ? `[${host}]` : host;
  return `http://${name}:${port}/#/enter/${code}`;
}

/**
 * Returns the same claim holder name after a restart. So the restarted Studio need not wait for its old claims to
 * expire.
 */
function holderName(host: string, port: number): string {
  return `studio_${createHash("sha256").update(`${hostname()} ${host} ${port}`).digest("hex").slice(0, 16)}`;
}

function notListening({ code }: NodeJS.ErrnoException, port: number, host: string): StudioError {
  const status = 500;
  if (code === "EADDRINUSE") {
    const message = `Port ${port} of ${host} is in use. Choose another port, or 0 for any free one.`;
    return new StudioError({ code: "port_in_use", status, message });
  }
  const message = `Studio cannot listen on port ${port} of ${host} (${code ?? "unknown"}). Choose another port or address.`;
  return new StudioError({ code: "cannot_listen", status, message });
}

const MAX_DISCARDED = 64 * 1024 * 1024;

interface Adapted {
  readonly handle: (request: Request) => Promise<Response>;
  readonly fallbackHost: string;
  readonly maxPauseMs: number;
}

/** Adapts a handler for web `Request` and `Response` to node:http. A body that pauses for too long ends its connection. */
export function listener(
  handle: (request: Request) => Promise<Response>,
  fallbackHost: string,
  maxPauseMs = MAX_PAUSE_MS,
): RequestListener {
  return (incoming, outgoing) => {
    void answer({ handle, fallbackHost, maxPauseMs }, incoming, outgoing).catch(() => outgoing.destroy()); // errors here mean that the client has disconnected
  };
}

async function answer(
  { handle, fallbackHost, maxPauseMs }: Adapted,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  outgoing.once("close", () => gone.abort());
  const request = requestOf(incoming, { signal: gone.signal, fallbackHost, maxPauseMs });
  const response = request === undefined ? errorResponse(malformed()) : await handle(request);
  if (!incoming.complete) outgoing.setHeader("connection", "close");
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  if (response.body === null) outgoing.end();
  else await write(response.body, outgoing, gone.signal);
  if (!incoming.complete) discard(incoming, maxPauseMs);
}

/**
 * Reads and drops the rest of a refused body, up to a limit. Some clients read the response only after sending the
 * body.
 */
function discard(incoming: IncomingMessage, maxPauseMs: number): void {
  let left = MAX_DISCARDED;
  const pause = setTimeout(() => incoming.destroy(), maxPauseMs);
  incoming.removeAllListeners("data");
  incoming.on("data", ({ length }: Buffer) => {
    left -= length;
    if (left < 0) incoming.destroy();
    else pause.refresh();
  });
  incoming.once("close", () => clearTimeout(pause));
  incoming.resume();
}

/** The body as a stream. Cancelling it keeps the connection open for the answer. A long pause of the client is an error. */
function bodyOf(incoming: IncomingMessage, maxPauseMs: number): ReadableStream<Uint8Array> {
  let pause: ReturnType<typeof setTimeout> | undefined; // set while the client has to send
  return new ReadableStream<Uint8Array>({
    start: (controller) => {
      incoming.on("data", (chunk: Buffer) => {
        clearTimeout(pause);
        controller.enqueue(new Uint8Array(chunk));
        incoming.pause();
      });
      incoming.once("end", () => {
        clearTimeout(pause);
        controller.close();
      });
      incoming.once("error", (error) => controller.error(error));
      incoming.once("close", () => clearTimeout(pause));
      incoming.pause();
    },
    pull: (controller) => {
      clearTimeout(pause);
      pause = setTimeout(() => {
        incoming.removeAllListeners("data").removeAllListeners("end");
        controller.error(halfSent());
      }, maxPauseMs);
      incoming.resume();
    },
    cancel: () => {
      clearTimeout(pause);
      incoming.removeAllListeners("data").removeAllListeners("end");
    },
  });
}

function requestOf(
  incoming: IncomingMessage,
  { signal, fallbackHost, maxPauseMs }: Omit<Adapted, "handle"> & { readonly signal: AbortSignal },
): Request | undefined {
  const { method = "GET", url = "/", headers } = incoming;
  try {
    const hasBody = method !== "GET" && method !== "HEAD";
    const given = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(", ") : value]],
    );
    const body = hasBody ? bodyOf(incoming, maxPauseMs) : null;
    // A path may begin with two slashes, which URL would read as a host. So the origin is put before it.
    const target = new URL(`http://${headers.host ?? fallbackHost}${url.startsWith("/") ? url : "/"}`);
    return new Request(target, { method, headers: given, body, duplex: "half", signal });
  } catch {
    return undefined;
  }
}

/** Writes the response body, no faster than the client reads. */
async function write(body: ReadableStream<Uint8Array>, outgoing: ServerResponse, gone: AbortSignal): Promise<void> {
  const reader = body.getReader();
  const leave = (): void => void reader.cancel().catch(() => undefined);
  gone.addEventListener("abort", leave, { once: true });
  if (gone.aborted) leave();
  for (;;) {
    const { done, value } = await reader.read();
    if (done || gone.aborted) break;
    if (!outgoing.write(value)) await drained(outgoing, gone);
  }
  gone.removeEventListener("abort", leave);
  outgoing.end();
}

function drained(outgoing: ServerResponse, gone: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const go = (): void => {
      outgoing.off("drain", go);
      gone.removeEventListener("abort", go);
      resolve();
    };
    if (gone.aborted) return resolve();
    outgoing.once("drain", go);
    gone.addEventListener("abort", go, { once: true });
  });
}

function halfSent(): StudioError {
  const message = "The body of the request did not arrive. Send it again.";
  return new StudioError({ code: "request_half_sent", status: 408, message, retryable: true });
}

function malformed(): StudioError {
  return new StudioError({
    code: "invalid_request",
    status: 400,
    message: "The request is malformed: it has an invalid URL, method or header.",
  });
}
