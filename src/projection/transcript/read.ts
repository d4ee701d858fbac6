import type { Entry } from "../../thread/entry.ts";
import { isPlainObject, type JsonObject } from "../../thread/json.ts";
import type { Refs } from "../../thread/refs.ts";
import { ProjectionError } from "../error.ts";
import { Unreadable } from "./content.ts";
import type { Reader, Said } from "./reader.ts";
import { UnknownRole } from "./vocabularies.ts";

const TYPES: ReadonlySet<string> = new Set(["user", "system", "assistant", "tool_result"]);

/** What one payload says, by its reader. Whatever goes wrong is a ProjectionError that names the entry. */
export function readSaid({ seq, kind, v = 1 }: Entry, payload: unknown, reader: Reader, refs: Refs): Said | undefined {
  if (v > reader.version) {
    const trouble = `has version ${v}, and version ${reader.version} is the newest its reader knows. Update heddle, or the reader`;
    throw unreadable("entry_too_new", seq, kind, trouble);
  }
  try {
    if (!isPlainObject(payload)) throw new Unreadable("it must be an object");
    const current = v < reader.version && reader.upcast ? reader.upcast(payload as JsonObject, v) : payload;
    const said = reader.read(current as JsonObject, { seq, kind, refs }); // payloads are JSON
    if (said !== undefined && !TYPES.has(said.type)) throw new Unreadable("its reader gave no message");
    return said;
  } catch (cause) {
    const code = cause instanceof UnknownRole ? "unknown_role" : "entry_unreadable";
    const trouble = cause instanceof Unreadable ? cause.message : "its reader failed";
    const advice = "Replace it with a context operation, or exclude its kind";
    throw unreadable(code, seq, kind, `cannot be read: ${trouble}. ${advice}`, cause);
  }
}

function unreadable(code: string, seq: number, kind: string, trouble: string, cause?: unknown): ProjectionError {
  return new ProjectionError({ code, seq, kind, message: `Entry ${seq} (${kind}) ${trouble}.`, cause });
}
