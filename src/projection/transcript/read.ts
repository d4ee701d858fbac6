import type { Entry } from "../../thread/entry.ts";
import { copyJson, isPlainObject, type JsonObject, type JsonValue } from "../../thread/json.ts";
import type { Refs } from "../../thread/refs.ts";
import { ProjectionError } from "../error.ts";
import { contentOf, Unreadable } from "./content.ts";
import { callsOf, textField } from "./fields.ts";
import type { Reader, Said } from "./reader.ts";
import { FIRST_TOOL_RESULT, READERS, UnknownRole } from "./vocabularies.ts";

/**
 * Reads one payload with its reader. Every failure is a ProjectionError that names the entry, or, for a pending item, its
 * path in the input.
 */
export function readSaid(
  { seq, kind, v = 1 }: Entry,
  payload: unknown,
  reader: Reader,
  refs: Refs,
  pending?: string,
): Said | undefined {
  const unreadable = (code: string, trouble: string, cause?: unknown): ProjectionError => {
    const message = `${pending ?? `Entry ${seq}`} (${kind}) ${trouble}.`;
    return new ProjectionError({ code, seq, kind, message, cause });
  };
  if (v > reader.version) {
    const trouble = `has version ${v}, and version ${reader.version} is the newest its reader knows. Update heddle, or the reader`;
    throw unreadable("entry_too_new", trouble);
  }
  try {
    if (!isPlainObject(payload)) throw new Unreadable("it must be an object");
    const current = v < reader.version && reader.upcast ? reader.upcast(payload as JsonObject, v) : payload;
    const said = reader.read(current as JsonObject, { seq, kind, refs }); // payloads are JSON
    return said === undefined || isOurs(reader) ? said : checkedSaid(said);
  } catch (cause) {
    const code = cause instanceof UnknownRole ? "unknown_role" : "entry_unreadable";
    const trouble = cause instanceof Unreadable ? cause.message : "its reader failed";
    const advice = pending === undefined ? ". Replace it with a context operation, or exclude its kind" : "";
    throw unreadable(code, `cannot be read: ${trouble}${advice}`, cause);
  }
}

const OUR_WAYS: ReadonlySet<Reader["read"]> = new Set(
  [...Object.values(READERS), FIRST_TOOL_RESULT].map(({ read }) => read),
);

/** The built-in readers check and freeze their output, so it needs no copy. */
function isOurs({ read, upcast }: Reader): boolean {
  return upcast === undefined && OUR_WAYS.has(read);
}

/** A checked copy of a custom reader's output, because the reader may keep and change the original. */
function checkedSaid(said: unknown): Said {
  const { type, content, toolCalls, isError, ...names } = Object(said);
  switch (type) {
    case "user":
      return { type, content: contentOf(copied(content, "content")) };
    case "system":
      if (typeof content !== "string") throw new Unreadable("the content of a system message must be text");
      return { type, content };
    case "assistant": {
      const calls = callsOf(copied(toolCalls, "toolCalls"));
      const words = contentOf(copied(content, "content"));
      return { type, content: words, ...(calls.length > 0 && { toolCalls: calls }) };
    }
    case "tool_result": {
      if (isError !== undefined && typeof isError !== "boolean") throw new Unreadable("isError must be true or false");
      const toolCallId = textField(names, "toolCallId");
      const name = textField(names, "name");
      return {
        type,
        ...(toolCallId !== undefined && { toolCallId }),
        ...(name !== undefined && { name }),
        content: contentOf(copied(content, "content")),
        ...(isError !== undefined && { isError }),
      };
    }
    default:
      throw new Unreadable("its reader must return a message or undefined");
  }
}

function copied(value: unknown, field: string): JsonValue | undefined {
  if (value === undefined) return undefined;
  try {
    return copyJson(value as JsonValue, field); // throws when it is not JSON
  } catch (cause) {
    throw new Unreadable(`${field} is not JSON`, { cause });
  }
}
