import type { Entry, Refs } from "../../thread/entry.ts";
import { ignoreRejection } from "../../thread/errors.ts";
import { copyJson, isPlainObject, type JsonObject, type JsonValue } from "../../thread/json.ts";
import { type Author, authorName, type Content, resultText, type ToolCall } from "../../thread/message.ts";
import { ProjectionError } from "../error.ts";
import type { ProjectionRules } from "../rules.ts";
import { callOf, callsOf, contentOf, textField, UnreadablePayload, withThinking } from "./payload.ts";

/** The message in an entry, independent of the entry's kind. */
export type EntryMessage =
  /** `author`: the model is shown the name, or else the id, before the content. */
  | { readonly type: "user"; readonly content: Content; readonly author?: Author }
  /** A system message in the middle of the history. It is shown in the user role with a label. */
  | { readonly type: "system"; readonly content: string }
  | { readonly type: "assistant"; readonly content: Content; readonly toolCalls?: readonly ToolCall[] }
  | {
      readonly type: "tool_result";
      readonly toolCallId?: string;
      readonly name?: string;
      readonly content: Content;
      readonly isError?: boolean;
      /** The arguments that the call ran with, if its approval has edited them. The call is shown with these. */
      readonly editedArguments?: JsonValue;
    };

/** Facts about an entry that a reader gets with the payload. */
export interface ReadContext {
  readonly seq: number;
  readonly kind: string;
  readonly refs: Refs;
}

/**
 * Reads one kind of entry. It must be pure, because it runs again after a restart. It returns undefined for an entry
 * without a message. If it throws or returns an invalid message, showing the entry fails with `entry_unreadable`; an
 * entry outside the context window does no harm. The returned message is copied.
 * @example
 * const weather: Reader = { version: 1, read: ({ celsius }) => ({ type: "user", content: `It is ${celsius} degrees.` }) };
 */
export interface Reader {
  /** The newest payload version that it can read. A newer entry fails with `entry_too_new`. */
  readonly version: number;
  /** Converts a payload of an older version to `version`. Default: `read` gets payloads of all versions. */
  readonly upcast?: (payload: JsonObject, from: number) => JsonObject;
  readonly read: (payload: JsonObject, context: ReadContext) => EntryMessage | undefined;
}

/** Readers by entry kind. */
export type Readers = { readonly [kind: string]: Reader };

/** Thrown if the role of a message is unknown. */
class UnknownRoleError extends UnreadablePayload {}

/** Reads an entry of kind `message` or `ai_message`. */
function readMessage(payload: JsonObject, { refs }: Pick<ReadContext, "refs">): EntryMessage {
  const role = payload["role"];
  switch (role) {
    case "user":
      return { type: "user", content: contentOf(payload["content"]), ...authorIn(payload) };
    case "system":
    case "developer": // the name of this role in newer models of OpenAI
      return { type: "system", content: textOf(payload) };
    case "assistant":
      return readAnswer(payload);
    case "tool":
      return readResult(payload, refs);
    default:
      throw new UnknownRoleError("role must be user, assistant, system, developer or tool");
  }
}

/** Reads messages as projector heddle/1 did. */
function readMessageV1(payload: JsonObject, context: Pick<ReadContext, "refs">): EntryMessage {
  if (payload["role"] === "developer") throw new UnknownRoleError("role must be user, assistant, system or tool");
  const { author: _unknown, ...known } = payload;
  return readMessage(known, context);
}

/** A value that names no author is ignored, because the message is more important. */
function authorIn({ author }: JsonObject): { readonly author?: Author } {
  return authorName(author) === undefined ? {} : { author: author as Author }; // it is an object with a name or an id
}

function readAnswer(payload: JsonObject): EntryMessage {
  const { content = "", thinking, call, toolCalls: calls } = payload;
  const toolCalls = callsOf(calls);
  const model = typeof call === "object" && call !== null && "model" in call ? call["model"] : undefined;
  const parts = withThinking(contentOf(content ?? ""), thinking, typeof model === "string" ? model : undefined);
  return { type: "assistant", content: parts, ...(toolCalls.length > 0 && { toolCalls }) };
}

function readResult(payload: JsonObject, refs: Refs): EntryMessage {
  return {
    type: "tool_result",
    ...namesOf(payload, refs),
    content: contentOf(payload["content"]),
    isError: payload["isError"] === true,
    ...editedIn(payload),
  };
}

/** A field of the log and no rule of a projector: each of them shows what ran. */
function editedIn({ editedArguments }: JsonObject): { readonly editedArguments?: JsonValue } {
  return editedArguments === undefined ? {} : { editedArguments };
}

type MessageRules = Pick<ProjectionRules, "readsDeveloper" | "showsAuthors">;

function isOfFirstVersion({ readsDeveloper, showsAuthors }: MessageRules): boolean {
  return !readsDeveloper && !showsAuthors;
}

const message: Reader = { version: 1, read: readMessage };
const MESSAGE_V1: Reader = { version: 1, read: readMessageV1 };

/** Reads the messages of a `replace` operation, of any version. */
export function snapshotReader(rules: MessageRules): Reader {
  return isOfFirstVersion(rules) ? SNAPSHOT_V1 : SNAPSHOT;
}

const SNAPSHOT: Reader = { version: Number.POSITIVE_INFINITY, read: readMessage };
const SNAPSHOT_V1: Reader = { version: Number.POSITIVE_INFINITY, read: readMessageV1 };

const toolCall: Reader = {
  version: 1,
  read: (payload, { refs }) => {
    const call = callOf({ ...payload, arguments: payload["arguments"] ?? {} }, "payload");
    const id = call.id === "" && typeof refs["toolCallId"] === "string" ? refs["toolCallId"] : call.id;
    return { type: "assistant", content: "", toolCalls: [{ ...call, id }] };
  },
};

const toolResult = toolResultReader(false);

/** Reads results as projector heddle/1 did: an envelope's unknown fields are lost. */
const TOOL_RESULT_V1 = toolResultReader(true);

function toolResultReader(allowsMore: boolean): Reader {
  return {
    version: 1,
    read: (payload, { refs }) => {
      const { result } = payload;
      if (result === undefined) throw new UnreadablePayload("result is missing");
      return { type: "tool_result", ...namesOf(payload, refs), ...resultText(result, { allowsMore }) };
    },
  };
}

/** The built-in readers. Summaries and context operations have none, because the lane handles them. */
export const BUILT_IN_READERS: Readers = Object.freeze({
  message,
  tool_call: toolCall,
  tool_result: toolResult,
  ai_message: message,
});

function namesOf(payload: JsonObject, refs: Refs): { readonly toolCallId?: string; readonly name?: string } {
  const toolCallId = textField(payload, "toolCallId") || refs["toolCallId"];
  const name = textField(payload, "name");
  return { ...(typeof toolCallId === "string" && { toolCallId }), ...(name !== undefined && { name }) };
}

function textOf({ content }: JsonObject): string {
  if (typeof content === "string") return content;
  const parts = contentOf(content);
  return typeof parts === "string"
    ? parts
    : parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

/**
 * Reads one payload with its reader. Every failure is a ProjectionError. It names the entry, or the path in the input
 * for a pending item.
 */
export function readEntryMessage(
  { seq, kind, v = 1 }: Entry,
  payload: unknown,
  reader: Reader,
  refs: Refs,
  pending?: string,
): EntryMessage | undefined {
  const unreadable = (code: string, trouble: string, cause?: unknown): ProjectionError => {
    const message = `${pending ?? `Entry ${seq}`} (${kind}) ${trouble}.`;
    return new ProjectionError({ code, seq, kind, message, cause });
  };
  if (v > reader.version) {
    const trouble = `has version ${v}, and version ${reader.version} is the newest its reader knows. Update heddle, or the reader`;
    throw unreadable("entry_too_new", trouble);
  }
  try {
    if (!isPlainObject(payload)) throw new UnreadablePayload("it must be an object");
    const current = v < reader.version && reader.upcast ? reader.upcast(payload as JsonObject, v) : payload;
    if (!isPlainObject(current)) throw notReadable(current, "its upcast must return an object");
    const output = reader.read(current as JsonObject, { seq, kind, refs }); // every entry payload is a JSON object
    return output === undefined || isBuiltIn(reader) ? output : checkedMessage(output);
  } catch (cause) {
    const code = cause instanceof UnknownRoleError ? "unknown_role" : "entry_unreadable";
    const trouble = cause instanceof UnreadablePayload ? cause.message : "its reader failed";
    const advice = pending === undefined ? ". Replace it with a context operation, or exclude its kind" : "";
    throw unreadable(code, `cannot be read: ${trouble}${advice}`, cause);
  }
}

const BUILT_IN_READS: ReadonlySet<Reader["read"]> = new Set(
  [...Object.values(BUILT_IN_READERS), MESSAGE_V1, TOOL_RESULT_V1].map(({ read }) => read),
);

/** The built-in readers check and freeze their output, so it needs no copy. */
function isBuiltIn({ read, upcast }: Reader): boolean {
  return upcast === undefined && BUILT_IN_READS.has(read);
}

/** A checked copy of a custom reader's output, because the reader may keep and change the original. */
function checkedMessage(output: unknown): EntryMessage {
  const { type, content, toolCalls, isError, ...names } = Object(output);
  switch (type) {
    case "user":
      return {
        type,
        content: contentOf(jsonCopy(content, "content")),
        ...authorIn({ author: jsonCopy(names.author, "author") }),
      };
    case "system":
      if (typeof content !== "string") throw new UnreadablePayload("the content of a system message must be text");
      return { type, content };
    case "assistant": {
      const calls = callsOf(jsonCopy(toolCalls, "toolCalls"));
      const parts = contentOf(jsonCopy(content, "content"));
      return { type, content: parts, ...(calls.length > 0 && { toolCalls: calls }) };
    }
    case "tool_result": {
      if (isError !== undefined && typeof isError !== "boolean")
        throw new UnreadablePayload("isError must be true or false");
      const toolCallId = textField(names, "toolCallId");
      const name = textField(names, "name");
      return {
        type,
        ...(toolCallId !== undefined && { toolCallId }),
        ...(name !== undefined && { name }),
        content: contentOf(jsonCopy(content, "content")),
        ...(isError !== undefined && { isError }),
        ...editedIn({ editedArguments: jsonCopy(names.editedArguments, "editedArguments") }),
      };
    }
    default:
      throw notReadable(output, "its reader must return a message or undefined");
  }
}

function notReadable(given: unknown, trouble: string): UnreadablePayload {
  ignoreRejection(given);
  return new UnreadablePayload(trouble);
}

function jsonCopy(value: unknown, field: string): JsonValue | undefined {
  if (value === undefined) return undefined;
  try {
    return copyJson(value as JsonValue, field); // throws when it is not JSON
  } catch (cause) {
    throw new UnreadablePayload(`${field} is not JSON`, { cause });
  }
}

/** Readers by the entry kinds that are shown. */
export type ReaderRegistry = ReadonlyMap<string, Reader>;

type ReadingRules = MessageRules & Pick<ProjectionRules, "keepsWholeResults">;

const NEWEST: ReadingRules = { keepsWholeResults: true, readsDeveloper: true, showsAuthors: true };

/** Entry kinds that change a lane and contain no message. */
const KINDS_WITHOUT_MESSAGE: ReadonlySet<string> = new Set(["summary", "ai_context_operation", "ai_setting"]);

/** Returns the readers of these kinds. Custom readers override built-in ones. */
export function readerRegistry(
  kinds: readonly string[],
  readers: Readers = {},
  rules: ReadingRules = NEWEST,
): ReaderRegistry {
  const ours = {
    ...BUILT_IN_READERS,
    ...(!rules.keepsWholeResults && { tool_result: TOOL_RESULT_V1 }),
    ...(isOfFirstVersion(rules) && { message: MESSAGE_V1, ai_message: MESSAGE_V1 }),
  };
  return new Map(
    kinds.filter((kind) => !KINDS_WITHOUT_MESSAGE.has(kind)).map((kind) => [kind, readerOf(kind, [readers, ours])]),
  );
}

function readerOf(kind: string, all: readonly Readers[]): Reader {
  for (const known of all) {
    const reader = Object.hasOwn(known, kind) ? known[kind] : undefined;
    if (reader !== undefined) return reader;
  }
  const message = `includeKinds names "${kind}", which has no reader. Pass one: readers: { "${kind}": { version: 1, read } }.`;
  throw new ProjectionError({ code: "no_reader", kind, message });
}
