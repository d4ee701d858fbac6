import type { JsonObject } from "../../thread/json.ts";
import type { Content, ToolCall } from "../../thread/message.ts";
import type { Refs } from "../../thread/refs.ts";

/** What an entry says, whichever vocabulary wrote it. */
export type Said =
  | { readonly type: "user"; readonly content: Content }
  /** In mid-history: shown in the user role with a label. */
  | { readonly type: "system"; readonly content: string }
  | { readonly type: "assistant"; readonly content: Content; readonly toolCalls?: readonly ToolCall[] }
  | {
      readonly type: "tool_result";
      readonly toolCallId?: string;
      readonly name?: string;
      readonly content: Content;
      readonly isError?: boolean;
    };

/** What a reader is told of the entry besides its payload. */
export interface ReadContext {
  readonly seq: number;
  readonly kind: string;
  readonly refs: Refs;
}

/**
 * Reads one kind of entry. Called once for each entry that a projection looks at, and again after a restart, so it must
 * be pure. `undefined` says that there is nothing to show. What it throws becomes `entry_unreadable`, and only when the
 * entry is inside the window; so does what it gives when that is no message. What it gives is copied.
 *
 * @example
 * const weather: Reader = { version: 1, read: ({ celsius }) => ({ type: "user", content: `It is ${celsius} degrees.` }) };
 */
export interface Reader {
  /** The newest version of the payload that it can read; an entry beyond it is `entry_too_new`. */
  readonly version: number;
  /** Brings a payload of an older version up to `version`. Without it, `read` gets payloads of all versions. */
  readonly upcast?: (payload: JsonObject, from: number) => JsonObject;
  readonly read: (payload: JsonObject, context: ReadContext) => Said | undefined;
}

/** Kind -> reader. */
export type Readers = { readonly [kind: string]: Reader };
