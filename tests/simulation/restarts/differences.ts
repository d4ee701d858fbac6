import { Thread } from "heddle";
import type { Live } from "../../../src/runtime/live/live.ts";

export interface Difference {
  readonly path: string;
  readonly before: string;
  readonly after: string;
  readonly live: Live;
  readonly restarted: Live;
}

type Found = Pick<Difference, "path" | "before" | "after">;

/** What a restarted process has otherwise than the one before. Compares every field, also those that are new. */
export function differences(live: Live, restarted: Live): readonly Difference[] {
  const found: Found[] = [];
  compare(live, restarted, "", found);
  return found.map((one) => ({ ...one, live, restarted }));
}

function compare(before: unknown, after: unknown, path: string, found: Found[]): void {
  if (Object.is(before, after)) return;
  const [a, b] = [plain(before), plain(after)];
  if (typeof a === "function" && typeof b === "function") return;
  if (!isFields(a) || !isFields(b) || Array.isArray(a) !== Array.isArray(b)) {
    if (!Object.is(a, b)) found.push({ path, before: text(a), after: text(b) });
    return;
  }
  if (Array.isArray(a) && a.length !== (b as unknown as readonly unknown[]).length) {
    found.push({ path, before: text(a), after: text(b) });
    return;
  }
  for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
    compare(a[key], b[key], path === "" ? key : `${path}.${key}`, found);
  }
}

type Fields = { readonly [key: string]: unknown };

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null;
}

function plain(value: unknown): unknown {
  if (value instanceof Thread) return { rev: value.rev, entries: value.toArray({ partial: true }) };
  if (value instanceof Set) return [...value];
  if (value instanceof Map) return Object.fromEntries(value);
  return value;
}

function text(value: unknown): string {
  return (JSON.stringify(value) ?? String(value)).slice(0, 300);
}
