import type { LaneItem } from "../../lanes/lane-log.ts";
import type { Entry, Refs } from "../../thread/entry.ts";
import { isPlainObject, type JsonValue } from "../../thread/json.ts";
import { authorName, type Content, isProviderExecuted, type ToolCall, withAuthorName } from "../../thread/message.ts";
import { ProjectionError } from "../error.ts";
import type { ProjectionRules } from "../rules.ts";
import {
  BUILT_IN_READERS,
  type EntryMessage,
  type Reader,
  type ReaderRegistry,
  readEntryMessage,
  snapshotReader,
} from "./entry-reader.ts";
import { assistantContent, resultContent, userContent, withModelOfThinking } from "./payload.ts";

/** The content of an entry, or of one message of a `replace` operation, in a form that every provider accepts. */
export type Item = ItemPosition & ItemRefs & ItemContent;

interface ItemPosition {
  readonly seq: number;
  /** The index of the message in a `replace` operation. Undefined for an entry. */
  readonly index: number | undefined;
  readonly open: number;
  readonly position: number;
}

interface ItemRefs {
  readonly callId: string | undefined;
  readonly requestId: string | undefined;
  /** Whether the message came while its request ran, or waited for it. One that continues a request takes the place of the ask. */
  readonly isSteered: boolean;
  /** The fingerprint of the context that the model call was shown, if recorded. */
  readonly fingerprint: string | undefined;
}

type ItemContent =
  /** `author`: the name that the content begins with. */
  | { readonly type: "user"; readonly content: Content; readonly author?: string }
  | { readonly type: "label"; readonly content: string }
  | {
      readonly type: "assistant";
      readonly content: Content;
      readonly calls: readonly ToolCall[];
      /** Whether the entry is a single tool call without content. */
      readonly bareCall: boolean;
      /** Whether the next answer continues this one. */
      readonly isPaused: boolean;
    }
  | {
      readonly type: "result";
      readonly toolCallId: string | undefined;
      readonly name: string | undefined;
      readonly content: Content;
      readonly isError: boolean;
      readonly editedArguments?: JsonValue | undefined;
    }
  /** The entry has nothing to show. */
  | { readonly type: "blank" }
  /** The entry cannot be read. The error is thrown only when the item is rendered. */
  | { readonly type: "unreadable"; readonly error: ProjectionError };

/**
 * The label of a system message in the middle of the history. It is shown in the user role, because providers refuse it
 * there.
 */
const SYSTEM_LABEL = "System message:\n";

interface Reading {
  readonly registry: ReaderRegistry;
  readonly rules: ProjectionRules;
  /** The path in the input. Set for a pending item. */
  readonly pending: string | undefined;
}

/** Reads an item of a lane. Undefined if its kind is not shown or its reader returns nothing. */
export function readItem(place: LaneItem, { registry, rules, pending }: Reading): Item | undefined {
  const { entry, snapshot, cut, open, position } = place;
  const reader = snapshot === undefined ? registry.get(entry.kind) : snapshotReader(rules);
  if (reader === undefined) return undefined;
  const payload = snapshot === undefined ? (cut ?? entry.payload) : snapshot.message;
  const refs = snapshot === undefined ? entry.refs : refsIn(payload);
  const content = itemContentOf(entry, payload, reader, refs, {
    pending,
    isPaused: rules.joinsPauses && isPaused(payload),
  });
  if (content === undefined) return undefined;
  const attributed = rules.readsModelOfCall ? withModelOfCall(payload, content) : content;
  const at = { seq: entry.seq, index: snapshot?.index, open, position };
  return { ...at, ...itemRefsOf(payload, refs), ...attributed };
}

function withModelOfCall(payload: unknown, item: ItemContent): ItemContent {
  if (item.type !== "assistant" || !isPlainObject(payload) || !isPlainObject(payload["call"])) return item;
  const content = withModelOfThinking(item.content, text(payload["call"]["model"]));
  return content === item.content ? item : { ...item, content };
}

function itemContentOf(
  entry: Entry,
  payload: unknown,
  reader: Reader,
  refs: Refs,
  { pending, isPaused }: Pick<Reading, "pending"> & { readonly isPaused: boolean },
): ItemContent | undefined {
  try {
    const message = readEntryMessage(entry, payload, reader, refs, pending);
    return message && acceptedByProviders(message, reader === BUILT_IN_READERS["tool_call"], isPaused);
  } catch (error) {
    if (!ProjectionError.isInstance(error)) throw error;
    return { type: "unreadable", error };
  }
}

function acceptedByProviders(message: EntryMessage, bareCall: boolean, isPaused: boolean): ItemContent {
  switch (message.type) {
    case "user": {
      const content = userContent(message.content);
      const author = authorName(message.author);
      if (content === undefined) return BLANK;
      return author === undefined
        ? { type: "user", content }
        : { type: "user", content: withAuthorName(author, content), author };
    }
    case "system":
      return userContent(message.content) === undefined
        ? BLANK
        : { type: "label", content: SYSTEM_LABEL + message.content };
    case "assistant": {
      const calls = message.toolCalls ?? [];
      const hasRuns = isPaused && typeof message.content !== "string" && message.content.some(isProviderExecuted);
      const content = assistantContent(message.content, calls.length > 0 || hasRuns);
      return content === undefined ? BLANK : { type: "assistant", content, calls, bareCall, isPaused };
    }
    case "tool_result": {
      const { toolCallId, name, isError = false, editedArguments } = message;
      const id = toolCallId === "" ? undefined : toolCallId;
      const content = resultContent(message.content, isError);
      return { type: "result", toolCallId: id, name, content, isError, editedArguments };
    }
    default:
      return message satisfies never;
  }
}

const BLANK = { type: "blank" } as const;

function isPaused(payload: unknown): boolean {
  const { call } = isPlainObject(payload) ? payload : {};
  return isPlainObject(call) && call["finishReason"] === "paused";
}

function itemRefsOf(payload: unknown, refs: Refs): ItemRefs {
  const { call, requestId, steer } = isPlainObject(payload) ? payload : {};
  const fingerprint = isPlainObject(call) ? call["fingerprint"] : undefined;
  return {
    callId: text(refs["callId"]),
    requestId: text(refs["requestId"]) ?? text(requestId),
    isSteered: steer !== undefined && steer !== "continue",
    fingerprint: text(fingerprint),
  };
}

function refsIn(message: unknown): Refs {
  const refs = isPlainObject(message) ? message["refs"] : undefined;
  return isPlainObject(refs) ? (refs as Refs) : {}; // only text fields of `refs` are used
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
