import type { LaneItem } from "../../lanes/lane-log.ts";
import type { Entry } from "../../thread/entry.ts";
import { isPlainObject } from "../../thread/json.ts";
import type { Content, ToolCall } from "../../thread/message.ts";
import type { Refs } from "../../thread/refs.ts";
import { ProjectionError } from "../error.ts";
import type { ProjectionRules } from "../rules.ts";
import { assistantContent, resultContent, userContent } from "./content.ts";
import { withMaker } from "./fields.ts";
import { readSaid } from "./read.ts";
import type { Reader, Said } from "./reader.ts";
import type { Registry } from "./registry.ts";
import { READERS, readMessage } from "./vocabularies.ts";

/** The content of an entry, or of a message in a replaced context, in a form that every provider accepts. */
export type Item = Place & Refers & Words;

interface Place {
  readonly seq: number;
  /** The index of a message in a replaced context. */
  readonly index: number | undefined;
  readonly open: number;
  readonly position: number;
}

interface Refers {
  readonly callId: string | undefined;
  readonly requestId: string | undefined;
  /** The fingerprint of what the model call was shown, if recorded. */
  readonly fingerprint: string | undefined;
}

type Words =
  | { readonly type: "user"; readonly content: Content }
  | { readonly type: "label"; readonly content: string }
  | {
      readonly type: "assistant";
      readonly content: Content;
      readonly calls: readonly ToolCall[];
      /** The entry is a single call without content. */
      readonly bareCall: boolean;
    }
  | {
      readonly type: "result";
      readonly toolCallId: string | undefined;
      readonly name: string | undefined;
      readonly content: Content;
      readonly isError: boolean;
    }
  /** Nothing to show. */
  | { readonly type: "blank" }
  /** The error is thrown when the item is rendered. */
  | { readonly type: "unreadable"; readonly error: ProjectionError };

/** Providers accept no system message in mid-history, so it is shown in the user role with this label. */
const LABEL = "System message:\n";

interface Reading {
  readonly registry: Registry;
  readonly rules: ProjectionRules;
  /** The path in the input, for a pending item. */
  readonly pending: string | undefined;
}

/** Reads an item of a lane. Undefined when its kind is not shown or its reader returns nothing. */
export function readItem(place: LaneItem, { registry, rules, pending }: Reading): Item | undefined {
  const { entry, snapshot, open, position } = place;
  const reader = snapshot === undefined ? registry.get(entry.kind) : SNAPSHOT;
  if (reader === undefined) return undefined;
  const payload = snapshot === undefined ? entry.payload : snapshot.message;
  const refs = snapshot === undefined ? entry.refs : refsIn(payload);
  const words = wordsOf(entry, payload, reader, refs, pending);
  if (words === undefined) return undefined;
  const said = rules.readsModelOfCall ? withMakerOf(payload, words) : words;
  const at = { seq: entry.seq, index: snapshot?.index, open, position };
  return { ...at, ...refers(payload, refs), ...said };
}

function withMakerOf(payload: unknown, words: Words): Words {
  if (words.type !== "assistant" || !isPlainObject(payload) || !isPlainObject(payload["call"])) return words;
  const content = withMaker(words.content, text(payload["call"]["model"]));
  return content === words.content ? words : { ...words, content };
}

const SNAPSHOT: Reader = { version: Number.POSITIVE_INFINITY, read: readMessage };

function wordsOf(
  entry: Entry,
  payload: unknown,
  reader: Reader,
  refs: Refs,
  pending: string | undefined,
): Words | undefined {
  try {
    const said = readSaid(entry, payload, reader, refs, pending);
    return said && legalWords(said, reader === READERS["tool_call"]);
  } catch (error) {
    if (!ProjectionError.isInstance(error)) throw error;
    return { type: "unreadable", error };
  }
}

function legalWords(said: Said, bareCall: boolean): Words {
  switch (said.type) {
    case "user": {
      const content = userContent(said.content);
      return content === undefined ? BLANK : { type: "user", content };
    }
    case "system":
      return userContent(said.content) === undefined ? BLANK : { type: "label", content: LABEL + said.content };
    case "assistant": {
      const calls = said.toolCalls ?? [];
      const content = assistantContent(said.content, calls.length > 0);
      return content === undefined ? BLANK : { type: "assistant", content, calls, bareCall };
    }
    case "tool_result": {
      const { toolCallId, name, isError = false } = said;
      const id = toolCallId === "" ? undefined : toolCallId;
      return { type: "result", toolCallId: id, name, content: resultContent(said.content, isError), isError };
    }
    default:
      return said satisfies never;
  }
}

const BLANK = { type: "blank" } as const;

function refers(payload: unknown, refs: Refs): Refers {
  const { call, requestId } = isPlainObject(payload) ? payload : {};
  const fingerprint = isPlainObject(call) ? call["fingerprint"] : undefined;
  return {
    callId: text(refs["callId"]),
    requestId: text(refs["requestId"]) ?? text(requestId),
    fingerprint: text(fingerprint),
  };
}

function refsIn(message: unknown): Refs {
  const refs = isPlainObject(message) ? message["refs"] : undefined;
  return isPlainObject(refs) ? (refs as Refs) : {}; // only its text fields are used
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
