import { isPlainObject, type JsonObject, type JsonValue } from "../../thread/json.ts";
import { badField, StudioError } from "./error.ts";

const MEBI = 1024 * 1024;
const BODY_LIMIT = 4 * MEBI;

/** The body as text. A body that is too large is refused before it is in memory. */
async function textOf(request: Request): Promise<string> {
  const parts: string[] = [];
  for await (const part of textParts(request, BODY_LIMIT)) parts.push(part);
  return parts.join("");
}

/** The body as parts of text, as they arrive. A body of more than `limit` bytes is refused. */
export async function* textParts(request: Request, limit: number): AsyncGenerator<string, void> {
  if (Number(request.headers.get("content-length") ?? 0) > limit) throw tooLarge(limit);
  if (request.body === null) return;
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let bytes = 0;
  for await (const chunk of request.body as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > limit) throw tooLarge(limit);
    yield decoded(() => decoder.decode(chunk, { stream: true }));
  }
  yield decoded(() => decoder.decode());
}

function decoded(decode: () => string): string {
  try {
    return decode();
  } catch {
    throw new StudioError({ code: "invalid_request", status: 400, message: "The body must be UTF-8." });
  }
}

/** The body as a JSON object. Without a body it is an empty object. */
export async function objectOf(request: Request): Promise<JsonObject> {
  const value = parsed(await textOf(request), "The body");
  if (isPlainObject(value)) return value as JsonObject; // parsed JSON
  throw badField("The body", "a JSON object");
}

export function parsed(text: string, what: string): JsonValue {
  try {
    return text.trim() === "" ? {} : JSON.parse(text);
  } catch {
    throw new StudioError({ code: "invalid_request", status: 400, message: `${what} must be JSON.` });
  }
}

function tooLarge(limit: number): StudioError {
  const most = limit < MEBI ? `${limit} bytes` : `${Math.floor(limit / MEBI)} MiB`;
  const message = `A body may have ${most} here. Send less, or use the command line.`;
  return new StudioError({ code: "body_too_large", status: 413, message });
}
