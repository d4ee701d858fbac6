import type { PartMetadata } from "../../../thread/message.ts";
import { plainMetadata } from "../plain-json.ts";
import type { RawPart } from "../raw-part.ts";

/** Under this name stands what only we read again; no provider ever sees it. */
export const OURS = "heddle";

/** What a package wants back with a part. Ours alone may write under our name. */
export function metadataIn({ providerMetadata }: RawPart): PartMetadata | undefined {
  const { [OURS]: _ours, ...others } = plainMetadata(providerMetadata) ?? {};
  return Object.keys(others).length === 0 ? undefined : others;
}

/** Packages tell a block's metadata bit by bit, from its start to its end: what comes later adds to it. */
export function mergedMetadata(a: PartMetadata | undefined, b: PartMetadata | undefined): PartMetadata | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  const owners = Object.keys({ ...a, ...b });
  return Object.fromEntries(owners.map((owner) => [owner, { ...a[owner], ...b[owner] }]));
}

export function withMetadata(metadata: PartMetadata | undefined): { readonly metadata?: PartMetadata } {
  return metadata === undefined ? {} : { metadata };
}
