import { isPlainObject, type JsonObject } from "../../thread/json.ts";
import { RequestError } from "../request/request-error.ts";
import type { UIClientVersion } from "../ui-messages/options.ts";

/** The kind of a request to a chat handler. `turn` asks, and approves or answers waiting calls. */
export type ChatAction =
  | "turn"
  | "messages"
  | "stream"
  | "events"
  | "branch"
  | "stop"
  | "approve"
  | "deny"
  | "answer"
  | "rename";

const READS: readonly ChatAction[] = ["messages", "stream", "events"];
const WRITES: readonly ChatAction[] = ["branch", "stop", "approve", "deny", "answer", "rename"];

/** A request whose path, origin and body were checked. */
export interface ChatRequest {
  readonly action: ChatAction;
  readonly threadId: string;
  /** Empty for a request that only reads. */
  readonly body: JsonObject;
  /** The answer to stream again. */
  readonly messageId?: string | undefined;
  /** The messages that a page has: `known` of its last load, or empty before the first. */
  readonly known?: string | undefined;
  /** The id of the last event of a stream that a page has lost. */
  readonly lastEventId?: string | undefined;
  /** The version of the AI SDK in the page, if the request says it. */
  readonly client?: UIClientVersion | undefined;
}

export interface ChatRequestLimits {
  readonly maxBodyBytes: number;
  readonly origins: readonly string[];
}

/**
 * Reads a request. A path that ends with `/<thread id>/<action>` names both, wherever the handler is mounted. A POST to any other
 * path is a turn, whose body has the id.
 */
export async function readChatRequest(request: Request, limits: ChatRequestLimits): Promise<ChatRequest> {
  const { method } = request;
  const url = new URL(request.url);
  checkOrigin(request, url, limits.origins);
  const version = url.searchParams.get("client");
  const client = version === "6" || version === "7" ? { client: Number(version) as UIClientVersion } : {}; // one of the two
  const [threadId, last] = url.pathname.split("/").filter(Boolean).slice(-2);
  if (method === "GET" || method === "HEAD") {
    const action = READS.find((one) => one === last);
    if (action === undefined || threadId === undefined) throw notFound();
    const lastEventId = request.headers.get("last-event-id") ?? url.searchParams.get("after") ?? undefined;
    const [, answer] = /^([^/]+)\/\d+$/.exec(lastEventId ?? "") ?? [];
    const messageId = url.searchParams.get("message") ?? (answer && decoded(answer));
    const known = url.searchParams.get("known") ?? undefined;
    return { action, threadId: decoded(threadId), body: {}, known, messageId, lastEventId, ...client };
  }
  if (method !== "POST") {
    const message = `A chat handler takes GET and POST, and this is ${method}.`;
    throw new RequestError({ code: "method_not_allowed", message });
  }
  checkContentType(request);
  const body = await bodyOf(request, limits.maxBodyBytes);
  const action = WRITES.find((one) => one === last);
  if (action !== undefined && threadId !== undefined) return { action, threadId: decoded(threadId), body, ...client };
  return { action: "turn", threadId: requiredText(body, "id"), body, ...client };
}

/** A field that must be there, as text that is not empty. */
export function requiredText(body: JsonObject, name: string): string {
  const value = body[name];
  if (typeof value === "string" && value !== "") return value;
  throw invalid(`${name} must be text, and not empty.`);
}

/** A page of another site must not act for a user who is logged in here. A caller without these headers is no browser. */
function checkOrigin({ headers }: Request, url: URL, origins: readonly string[]): void {
  const origin = headers.get("origin");
  if (origin !== null && origins.includes(origin)) return;
  const site = headers.get("sec-fetch-site");
  const isOwnHost = origin === null || hostIn(origin) === (headers.get("host") ?? url.host);
  if (isOwnHost && site !== "cross-site" && site !== "same-site") return;
  if (isOwnHost && origin !== null) return; // another scheme or port of a proxy
  const message = `Pages of ${origin ?? "another site"} may not call this chat. Add the origin to \`origins\` of chatHandler.`;
  throw new RequestError({ code: "origin_refused", message });
}

function hostIn(origin: string): string | undefined {
  return /^https?:\/\/([^/]+)$/.exec(origin)?.[1];
}

/** A form of another site can send other types without asking first. */
function checkContentType({ headers }: Request): void {
  if (/^application\/json\s*(;|$)/i.test(headers.get("content-type") ?? "")) return;
  const message = "The body must be JSON: send the header `content-type: application/json`.";
  throw new RequestError({ code: "content_type_refused", message });
}

/** Reads the body up to the limit. */
async function bodyOf(request: Request, maxBytes: number): Promise<JsonObject> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const texts: string[] = [];
  let bytes = 0;
  for await (const chunk of (request.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw tooLarge(maxBytes);
    texts.push(valid(() => decoder.decode(chunk, { stream: true })));
  }
  if (bytes === 0)
    throw invalid("The body is empty. Mount chatHandler before a parser of bodies, such as express.json().");
  const text = [...texts, valid(() => decoder.decode())].join("");
  const value: unknown = valid(() => JSON.parse(text));
  if (!isPlainObject(value)) throw invalid("The body must be a JSON object.");
  return value as JsonObject; // parsed JSON
}

function valid<Value>(read: () => Value): Value {
  try {
    return read();
  } catch {
    throw invalid("The body must be JSON in UTF-8.");
  }
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw notFound();
  }
}

function invalid(message: string): RequestError {
  return new RequestError({ code: "invalid_request", message });
}

function tooLarge(maxBytes: number): RequestError {
  const message = `The body has more than ${maxBytes} bytes. Raise \`maxBodyBytes\` of chatHandler, or upload files elsewhere.`;
  return new RequestError({ code: "body_too_large", message });
}

function notFound(): RequestError {
  const message = "A chat has the paths /<id>/messages, /<id>/stream and /<id>/events for GET. A turn is a POST.";
  return new RequestError({ code: "route_not_found", message });
}
