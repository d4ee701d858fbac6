/** A part as the package gave it: any field may be anything. */
export interface RawPart {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** A copy that can be read without surprises; undefined when it is no part. */
export function rawPart(value: unknown): RawPart | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  try {
    const part: { readonly [field: string]: unknown } = { ...value };
    return typeof part["type"] === "string" ? { ...part, type: part["type"] } : undefined;
  } catch {
    return undefined; // a getter or a proxy of the package's threw
  }
}

/** The fields of anything: none, when it has none or they cannot be read. */
export function fieldsIn(value: unknown): { readonly [field: string]: unknown } {
  if (typeof value !== "object" || value === null) return {};
  try {
    return { ...value };
  } catch {
    return {};
  }
}
