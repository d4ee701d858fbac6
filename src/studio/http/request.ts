import { isPlainObject, type JsonObject, type JsonValue } from "../../thread/json.ts";
import type { Content } from "../../thread/message.ts";
import { badField, StudioError } from "./response.ts";

const MEBI = 1024 * 1024;
const BODY_LIMIT = 4 * MEBI;

/** Returns the body as text. A body above the limit is refused before it is in memory. */
async function textOf(request: Request): Promise<string> {
  const parts: string[] = [];
  for await (const part of textParts(request, BODY_LIMIT)) parts.push(part);
  return parts.join("");
}

/** Yields the body in parts of text as they arrive. A body of more than `limit` bytes is refused. */
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

/** Returns the body as a JSON object. A missing body gives an empty object. */
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

// Reads an optional text field. Deeper checks belong to the code that uses the field. `null` counts as missing.

export function optionalText(body: JsonObject, name: string): string | undefined {
  const value = body[name] ?? undefined;
  if (value === undefined || typeof value === "string") return value;
  throw badField(name, "text");
}

export function requiredText(body: JsonObject, name: string): string {
  const value = optionalText(body, name);
  if (value !== undefined && value !== "") return value;
  throw badField(name, "text, and is missing");
}

export function optionalSeq(body: JsonObject, name: string): number | undefined {
  const value = body[name] ?? undefined;
  if (value === undefined || isSeq(value)) return value;
  throw badField(name, "the seq of an entry");
}

export function requiredSeq(body: JsonObject, name: string): number {
  const value = optionalSeq(body, name);
  if (value !== undefined) return value;
  throw badField(name, "the seq of an entry, and is missing");
}

export function optionalObject(body: JsonObject, name: string): JsonObject | undefined {
  const value = body[name] ?? undefined;
  if (value === undefined || isPlainObject(value)) return value as JsonObject | undefined; // a parsed body contains only JSON
  throw badField(name, "an object");
}

export function optionalList(body: JsonObject, name: string): readonly JsonValue[] | undefined {
  const value = body[name] ?? undefined;
  if (value === undefined || Array.isArray(value)) return value;
  throw badField(name, "a list");
}

export function contentIn(body: JsonObject): Content {
  return asContent(body["content"], "content");
}

export function asContent(value: JsonValue | undefined, name: string): Content {
  if (typeof value === "string") return value;
  if (Array.isArray(value) && value.every(isPlainObject)) return value as unknown as Content; // the agent checks the parts of a content
  throw badField(name, "text or a list of parts");
}

/** Reads a whole number from the query. */
export function numberIn(query: URLSearchParams, name: string, most = Number.MAX_SAFE_INTEGER): number | undefined {
  const text = query.get(name);
  if (text === null || text === "") return undefined;
  const value = Number(text);
  if (!isSeq(value) || !/^\d+$/.test(text)) throw badField(name, "a whole number from 0");
  return Math.min(value, most);
}

/** Reads a time from the query: milliseconds since 1970, or an ISO 8601 date. */
export function timeIn(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text === "") return undefined;
  const value = /^\d+$/.test(text) ? Number(text) : Date.parse(text);
  if (Number.isFinite(value)) return value;
  throw badField(name, "milliseconds since 1970 or an ISO date");
}

/** Refuses a query with another parameter, which would do nothing. */
export function refuseUnknown(query: URLSearchParams, names: readonly string[]): void {
  const unknown = [...query.keys()].find((name) => !names.includes(name));
  if (unknown === undefined) return;
  const message = `There is no parameter ${JSON.stringify(unknown)} here. The parameters are ${names.join(", ")}.`;
  throw new StudioError({ code: "invalid_request", status: 400, message });
}

export function oneOf<Word extends string>(words: readonly Word[], text: string, name: string): Word {
  const found = words.find((word) => word === text);
  if (found !== undefined) return found;
  throw badField(name, `one of ${words.join(", ")}`);
}

function isSeq(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
