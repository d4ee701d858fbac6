import { isPlainObject, type JsonObject, type JsonValue } from "../../thread/json.ts";
import { badField, StudioError } from "./error.ts";

const BODY_LIMIT = 4 * 1024 * 1024;

/** The body as text. One that is too large is refused before it is in memory. */
export async function textOf(request: Request): Promise<string> {
  if (Number(request.headers.get("content-length") ?? 0) > BODY_LIMIT) throw tooLarge();
  if (request.body === null) return "";
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of request.body as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > BODY_LIMIT) throw tooLarge();
    chunks.push(chunk);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    throw new StudioError({ code: "invalid_request", status: 400, message: "The body must be UTF-8." });
  }
}

/** The body as a JSON object; no body is an empty one. */
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

function tooLarge(): StudioError {
  const message = `A body may have ${BODY_LIMIT / 1024 / 1024} MiB. Send less, or use the command line.`;
  return new StudioError({ code: "body_too_large", status: 413, message });
}
