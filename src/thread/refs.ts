import { ThreadError } from "./errors.ts";
import { describe, fieldsOf } from "./json.ts";

export type RefValue = string | number | boolean | null;

/**
 * The request, call or other things that an entry belongs to. Values are scalars. Put no personal data here, because refs
 * are indexed and survive erasure. They are never sent to a provider. You may use other keys than the named ones.
 */
export interface Refs {
  readonly requestId?: string;
  readonly runId?: string;
  readonly callId?: string;
  readonly toolCallId?: string;
  readonly iteration?: number;
  readonly parentCallId?: string;
  readonly signalId?: string;
  readonly instructionId?: string;
  readonly action?: string;
  readonly agentId?: string;
  readonly parentThreadId?: string;
  readonly entryId?: string;
  readonly [key: string]: RefValue | undefined;
}

export const NO_REFS: Refs = Object.freeze({});

/** A frozen copy of the refs, without the undefined ones. */
export function copyRefs(value: unknown, path: string): Refs {
  const fields = fieldsOf(value, path, "invalid_refs");
  if (Object.getOwnPropertySymbols(fields).length > 0) throw invalid(path, "has a symbol key");
  const refs: { [key: string]: RefValue } = {};
  for (const key of Object.keys(fields)) {
    const item = fields[key];
    if (item === undefined) continue;
    if (key === "__proto__" || !key.isWellFormed()) throw invalid(path, "has a key that JSON cannot hold");
    if (!isRefValue(item))
      throw invalid(`${path}.${key}`, `is ${describe(item)}; a ref is a string, number, boolean or null`);
    refs[key] = item === 0 ? 0 : item; // JSON has no -0
  }
  return Object.freeze(refs);
}

export function isRefValue(value: unknown): value is RefValue {
  if (typeof value === "string") return value.isWellFormed();
  return value === null || typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value));
}

function invalid(path: string, trouble: string): ThreadError {
  return new ThreadError({ code: "invalid_refs", path, message: `${path} ${trouble}.` });
}
