import type { JsonObject, JsonValue } from "../thread/json.ts";
import type { PartMetadata } from "../thread/message.ts";

/** The keys of metadata, named as in the AI SDK packages. */
export type MetadataOwner = "openai" | "anthropic" | "google";

/** Returns the metadata of one provider in a part. */
export function metadataOf(part: { readonly metadata?: PartMetadata }, owner: MetadataOwner): JsonObject {
  return part.metadata?.[owner] ?? {};
}

/** Returns a field of the metadata if it is text. */
export function textField(
  part: { readonly metadata?: PartMetadata },
  owner: MetadataOwner,
  field: string,
): string | undefined {
  const value = metadataOf(part, owner)[field];
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** JSON that callers may change. */
export type MutableJson = string | number | boolean | null | MutableJson[] | { [key: string]: MutableJson | undefined };

/** Returns a mutable copy. Entries are frozen, and some packages write into their input. */
export function thaw(value: JsonValue): MutableJson {
  if (typeof value !== "object" || value === null) return value;
  // Array.isArray does not exclude readonly arrays from the type, so the cast is needed.
  return Array.isArray(value) ? value.map(thaw) : thawObject(value as JsonObject);
}

export function thawObject(value: JsonObject): { [key: string]: MutableJson | undefined } {
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, item === undefined ? undefined : thaw(item)]),
  );
}
