import { copyWords, isPlainObject, type JsonObject, type JsonValue, reading } from "../json.ts";

// What a message holds beyond what a model is shown is kept as it came, so that it can be given back. Texts that stand
// in the entry anyway are not stored twice: a reference `{ "heddle:is": [...] }` stands in their place. Lists of the AI
// SDK hold URLs and bytes, which JSON has not; there are references for these too.

const IS = "heddle:is";
/** A shorter text is no longer than its reference. */
const WORTH_SHARING = 32;

/** JSON of what somebody passed in, with references for URLs and bytes. Anything else that is no JSON is an error. */
export function written(value: unknown, path: string): JsonValue {
  return copyWords(
    reading(path, "invalid_message", () => referred(value, [])),
    path,
  );
}

function referred(value: unknown, above: readonly object[]): unknown {
  // A cycle goes on to the copy, which says where it is.
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

/** The texts of these payloads that are worth a reference, in an order that depends on nothing but them. */
export function textsIn(payloads: JsonValue): readonly string[] {
  const texts = new Set<string>();
  const visit = (value: JsonValue | undefined): void => {
    if (typeof value === "string" && value.length >= WORTH_SHARING) texts.add(value);
    if (typeof value === "object" && value !== null) Object.values(value).forEach(visit);
  };
  visit(payloads);
  return [...texts].sort();
}

/** The value with references in place of the texts that stand elsewhere, also of JSON that stands there as text. */
export function shared(value: JsonValue, texts: readonly string[]): JsonValue {
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

/** What was written, as a copy that is the receiver's own; `plain` has the text of URLs and the base64 of bytes. */
export function restored(value: JsonValue, texts: readonly string[] = [], plain = false): unknown {
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
        return Object.fromEntries(inside as [string, unknown][]); // an object of the pairs that were written
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
