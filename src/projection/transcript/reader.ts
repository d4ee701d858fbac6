import type { JsonObject } from "../../thread/json.ts";
import type { Content, ToolCall } from "../../thread/message.ts";
import type { Refs } from "../../thread/refs.ts";

/** The message in an entry, independent of the entry's kind. */
export type Said =
  | { readonly type: "user"; readonly content: Content }
  /** Shown in the user role with a label, because it is in mid-history. */
  | { readonly type: "system"; readonly content: string }
  | { readonly type: "assistant"; readonly content: Content; readonly toolCalls?: readonly ToolCall[] }
  | {
      readonly type: "tool_result";
      readonly toolCallId?: string;
      readonly name?: string;
      readonly content: Content;
      readonly isError?: boolean;
    };

/** Facts about the entry that a reader gets besides the payload. */
export interface ReadContext {
  readonly seq: number;
  readonly kind: string;
  readonly refs: Refs;
}

/**
 * Reads one kind of entry. It must be pure, because it runs again after a restart. `undefined` means that there is nothing
 * to show. If it throws or returns an invalid message, showing the entry fails with `entry_unreadable`; an entry outside
 * the window does no harm. The returned message is copied.
 *
 * @example
 * const weather: Reader = { version: 1, read: ({ celsius }) => ({ type: "user", content: `It is ${celsius} degrees.` }) };
 */
export interface Reader {
  /** The newest version of the payload that it can read. A newer entry is `entry_too_new`. */
  readonly version: number;
  /** Converts a payload of an older version to `version`. Default: `read` gets payloads of all versions. */
  readonly upcast?: (payload: JsonObject, from: number) => JsonObject;
  readonly read: (payload: JsonObject, context: ReadContext) => Said | undefined;
}

/** Readers by kind of entry. */
export type Readers = { readonly [kind: string]: Reader };
