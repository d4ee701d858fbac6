import { copyJsonRepaired, isPlainObject, type JsonObject, type JsonValue, readSafely } from "../json.ts";

// An imported message is stored with fields that no model is shown, so that it can be returned unchanged. A text that the
// entry holds anyway is not stored twice. A reference `{ "heddle:is": [...] }` replaces it. Lists of the AI SDK may hold
// URLs and bytes, which are not JSON. They are stored as references too.

const IS = "heddle:is";
/** The reference of a shorter text would not save space. */
const WORTH_SHARING = 32;

/** The caller's value as JSON, with references for URLs and bytes. Other values that are not JSON are errors. */
export function encodeOriginal(value: unknown, path: string): JsonValue {
  return copyJsonRepaired(
    readSafely(path, "invalid_message", () => referred(value, [])),
    path,
  );
}

function referred(value: unknown, above: readonly object[]): unknown {
  // A cycle is left for the copy, which reports its path.
  if (typeof value !== "object" || value === null || above.includes(value)) return value;
  if (value instanceof URL) return { [IS]: ["url", value.href] };
  const bytes = value instanceof ArrayBuffer ? new Uint8Array(value) : value;
  if (bytes instanceof Uint8Array) return { [IS]: ["bytes", base64(bytes)] };
  const inside = [...above, value];
  if (Array.isArray(value)) return Array.from(value, (item) => referred(item, inside));
  if (!isPlainObject(value) || Object.getOwnPropertySymbols(value).length > 0) return value;
  const pairs = Object.entries(value).flatMap(([key, item]) =>
    item === undefined ? [] : [[key, referred(item, inside)]],
  );
  return Object.hasOwn(value, IS) ? { [IS]: ["object", pairs] } : Object.fromEntries(pairs);
}

/** The texts of these payloads that are long enough for a reference. Sorted, so that the order is stable. */
export function collectTexts(payloads: JsonValue): readonly string[] {
  const texts = new Set<string>();
  const visit = (value: JsonValue | undefined): void => {
    if (typeof value === "string" && value.length >= WORTH_SHARING) texts.add(value);
    if (typeof value === "object" && value !== null) Object.values(value).forEach(visit);
  };
  visit(payloads);
  return [...texts].sort();
}

/** Replaces texts that are stored elsewhere with references, and values whose JSON is stored as text. */
export function shareTexts(value: JsonValue, texts: readonly string[]): JsonValue {
  const places = new Map(texts.map((text, index) => [text, index]));
  const hasJson = texts.some((text) => /^[[{]/.test(text));
  const share = (value: JsonValue): JsonValue => {
    if (typeof value === "string") return shareText(value);
    if (typeof value !== "object" || value === null) return value;
    if (Object.hasOwn(value, IS)) return { [IS]: listOf((value as JsonObject)[IS]).map(share) };
    const place = hasJson ? places.get(JSON.stringify(value)) : undefined;
    if (place !== undefined) return { [IS]: ["json", place] };
    return Array.isArray(value) ? value.map(share) : mapped(value as JsonObject, share);
  };
  const shareText = (text: string): JsonValue => {
    const place = places.get(text);
    if (place !== undefined) return { [IS]: ["text", place] };
    const [head = ""] = /^data:[^,]*,/.exec(text) ?? [];
    const rest = head === "" ? undefined : places.get(text.slice(head.length));
    return rest === undefined ? text : { [IS]: ["text", rest, head] };
  };
  return share(value);
}

/** The original value as a new copy. With `plain`, URLs are text and bytes are base64. */
export function decodeOriginal(value: JsonValue, texts: readonly string[] = [], plain = false): unknown {
  const restore = (value: JsonValue): unknown => {
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) return value.map(restore);
    if (!Object.hasOwn(value, IS)) return mapped(value as JsonObject, restore);
    const [kind, of = null, head = ""] = listOf((value as JsonObject)[IS]);
    const inside = restore(of);
    switch (kind) {
      case "text":
        return `${head}${texts[Number(inside)]}`;
      case "json":
        return restore(JSON.parse(`${texts[Number(inside)]}`));
      case "url":
        return plain ? inside : new URL(String(inside));
      case "bytes":
        return plain ? inside : Uint8Array.from(atob(String(inside)), (byte) => byte.charCodeAt(0));
      default:
        return Object.fromEntries(inside as [string, unknown][]); // the pairs that `referred` wrote
    }
  };
  return restore(value);
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}

function mapped<T>(object: JsonObject, map: (value: JsonValue) => T): { [key: string]: T } {
  return Object.fromEntries(Object.entries(object).map(([key, item = null]) => [key, map(item)]));
}

export function base64(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}
