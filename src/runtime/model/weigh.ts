import { fieldsIn } from "./raw-part.ts";

/** Each part costs something, so that an endless stream of empty ones ends too. */
const PER_PART = 32;

/** About how many bytes a part holds; anything above `limit` is as good as any other. */
export function weigh(part: object, limit: number): number {
  return weighed(part, limit, 0) + PER_PART;
}

function weighed(value: unknown, limit: number, depth: number): number {
  if (typeof value === "string") return value.length;
  if (value instanceof Uint8Array) return value.byteLength;
  if (typeof value !== "object" || value === null || depth > 300) return 1;
  let bytes = 2;
  for (const [key, inside] of Object.entries(fieldsIn(value))) {
    bytes += key.length + weighed(inside, limit - bytes, depth + 1);
    if (bytes > limit) break; // also ends where an object contains itself
  }
  return bytes;
}
