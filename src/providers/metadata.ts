import type { JsonObject, JsonValue } from "../thread/json.ts";
import type { PartMetadata } from "../thread/message.ts";

/** The keys of metadata, as the packages of the AI SDK name them. */
export type MetadataOwner = "openai" | "anthropic" | "google";

/** The metadata of one provider in a part. */
export function metadataOf(part: { readonly metadata?: PartMetadata }, owner: MetadataOwner): JsonObject {
  return part.metadata?.[owner] ?? {};
}

/** A field of the metadata, if it is text. */
export function textField(
  part: { readonly metadata?: PartMetadata },
  owner: MetadataOwner,
  field: string,
): string | undefined {
  const value = metadataOf(part, owner)[field];
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** JSON that may be changed. */
export type MutableJson = string | number | boolean | null | MutableJson[] | { [key: string]: MutableJson | undefined };

/** A mutable copy, because entries are frozen and some packages write into their input. */
export function thaw(value: JsonValue): MutableJson {
  if (typeof value !== "object" || value === null) return value;
  // Array.isArray does not narrow readonly arrays away, so the object side is said to be one.
  return Array.isArray(value) ? value.map(thaw) : thawObject(value as JsonObject);
}

export function thawObject(value: JsonObject): { [key: string]: MutableJson | undefined } {
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, item === undefined ? undefined : thaw(item)]),
  );
}
