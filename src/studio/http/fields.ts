import { isPlainObject, type JsonObject, type JsonValue } from "../../thread/json.ts";
import type { Content } from "../../thread/message.ts";
import { badField } from "./error.ts";

// Reads fields of a body. Checks only what the receiver does not check itself. `null` counts as missing.

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
  if (value === undefined || isPlainObject(value)) return value as JsonObject | undefined; // JSON, as the body is
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
  if (Array.isArray(value) && value.every(isPlainObject)) return value as unknown as Content; // the agent checks the parts
  throw badField(name, "text or a list of parts");
}

/** Reads a whole number of a query. */
export function numberIn(query: URLSearchParams, name: string, most = Number.MAX_SAFE_INTEGER): number | undefined {
  const text = query.get(name);
  if (text === null || text === "") return undefined;
  const value = Number(text);
  if (!isSeq(value) || !/^\d+$/.test(text)) throw badField(name, "a whole number from 0");
  return Math.min(value, most);
}

/** Reads a time of a query: milliseconds since 1970, or an ISO 8601 date. */
export function timeIn(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text === "") return undefined;
  const value = /^\d+$/.test(text) ? Number(text) : Date.parse(text);
  if (Number.isFinite(value)) return value;
  throw badField(name, "milliseconds since 1970 or an ISO date");
}

export function oneOf<Word extends string>(words: readonly Word[], text: string, name: string): Word {
  const found = words.find((word) => word === text);
  if (found !== undefined) return found;
  throw badField(name, `one of ${words.join(", ")}`);
}

function isSeq(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
