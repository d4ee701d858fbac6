import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { StudioError } from "./error.ts";
import { failed } from "./failed.ts";

const MOST_DISCARDED = 64 * 1024 * 1024;

/** Adapts a handler of Request and Response to node:http. */
export function listener(handle: (request: Request) => Promise<Response>, fallbackHost: string): RequestListener {
  return (incoming, outgoing) => {
    void answer(handle, incoming, outgoing, fallbackHost).catch(() => outgoing.destroy()); // the client has disconnected
  };
}

async function answer(
  handle: (request: Request) => Promise<Response>,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  fallbackHost: string,
): Promise<void> {
  const gone = new AbortController();
  outgoing.once("close", () => gone.abort());
  const request = requestOf(incoming, gone.signal, fallbackHost);
  const response = request === undefined ? failed(malformed()) : await handle(request);
  if (!incoming.complete) outgoing.setHeader("connection", "close");
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  if (response.body === null) outgoing.end();
  else await write(response.body, outgoing, gone.signal);
  if (!incoming.complete) discard(incoming);
}

/** Reads and drops the rest of a refused body, for a limited time. Otherwise the client never reads the refusal. */
function discard(incoming: IncomingMessage): void {
  let left = MOST_DISCARDED;
  incoming.removeAllListeners("data");
  incoming.on("data", ({ length }: Buffer) => {
    left -= length;
    if (left < 0) incoming.destroy();
  });
  incoming.resume();
}

/** The body as a stream. Cancelling it keeps the connection open for the answer. */
function bodyOf(incoming: IncomingMessage): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    start: (controller) => {
      incoming.on("data", (chunk: Buffer) => {
        controller.enqueue(new Uint8Array(chunk));
        incoming.pause();
      });
      incoming.once("end", () => controller.close());
      incoming.once("error", (error) => controller.error(error));
      incoming.pause();
    },
    pull: () => {
      incoming.resume();
    },
    cancel: () => {
      incoming.removeAllListeners("data").removeAllListeners("end");
    },
  });
}

function requestOf(incoming: IncomingMessage, signal: AbortSignal, fallbackHost: string): Request | undefined {
  const { method = "GET", url = "/", headers } = incoming;
  try {
    const hasBody = method !== "GET" && method !== "HEAD";
    const given = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(", ") : value]],
    );
    const body = hasBody ? bodyOf(incoming) : null;
    // A path may begin with two slashes. Without the prefix, URL would read a host from it.
    const target = new URL(`http://${headers.host ?? fallbackHost}${url.startsWith("/") ? url : "/"}`);
    return new Request(target, { method, headers: given, body, duplex: "half", signal });
  } catch {
    return undefined;
  }
}

/** Writes no faster than the client reads. */
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

function malformed(): StudioError {
  return new StudioError({
    code: "invalid_request",
    status: 400,
    message: "The request is malformed: it has an invalid URL, method or header.",
  });
}
