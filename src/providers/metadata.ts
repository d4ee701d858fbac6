import type { JsonObject, JsonValue } from "../thread/json.ts";
import type { PartMetadata } from "../thread/message.ts";

/** The names under which metadata is kept; those of the AI SDK's packages. */
export type MetadataOwner = "openai" | "anthropic" | "google";

/** What one provider wants back with a part. */
export function metadataOf(part: { readonly metadata?: PartMetadata }, owner: MetadataOwner): JsonObject {
  return part.metadata?.[owner] ?? {};
}

/** A field of the metadata, when it is the text it should be. */
export function textField(
  part: { readonly metadata?: PartMetadata },
  owner: MetadataOwner,
  field: string,
): string | undefined {
  const value = metadataOf(part, owner)[field];
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** JSON that its receiver may write into. */
export type MutableJson = string | number | boolean | null | MutableJson[] | { [key: string]: MutableJson | undefined };

/** A copy that is the receiver's own: entries are frozen, and packages do write into what they are given. */
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
