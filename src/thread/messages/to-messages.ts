import type { ThreadBase } from "../base.ts";
import type { Entry } from "../entry.ts";
import { ThreadError } from "../errors.ts";
import { isPlainObject, type JsonObject, type JsonValue, reading } from "../json.ts";
import { LaneReader } from "../lane-reader.ts";
import { resultText } from "../results.ts";
import { isOfVersion4 } from "./ai-sdk-4.ts";
import { Field } from "./field.ts";
import { checkFormat, isFormat, type MessageFormat } from "./formats.ts";
import { readNeutral } from "./neutral.ts";
import { outputsIn, structureIn } from "./outputs.ts";
import { partsOf, type Said, type Spoken } from "./said.ts";
import { restored, textsIn, written } from "./verbatim.ts";
import { write } from "./write.ts";

/** The message in an entry, and the stored facts about its original. */
interface Item {
  readonly entry: Entry;
  readonly said: Spoken;
  readonly original: JsonObject;
}

/** Options of `toMessages`. */
export interface ToMessagesOptions {
  /** Default: the format given to `fromMessages`, else neutral. */
  readonly format?: MessageFormat | undefined;
  /** Default: the active lane. A lane without entries has no messages. */
  readonly lane?: string | undefined;
  /** Accepts a thread of which only a tail is loaded, and lists the tail. Default false: throws `entry_not_loaded`. */
  readonly partial?: boolean | undefined;
}

export function checkLane(lane: unknown): string | undefined {
  if (lane === undefined || (typeof lane === "string" && lane !== "")) return lane;
  const path = "options.lane";
  throw new ThreadError({ code: "invalid_options", path, message: `${path} must be the name of a lane.` });
}

/**
 * The entries of one lane, by default the active lane at the end, without malformed operations. `base` holds facts about the
 * entries before the first one.
 */
export function entriesOfLane(
  entries: readonly Entry[],
  { lane, base }: { readonly lane?: string | undefined; readonly base?: ThreadBase | undefined } = {},
): readonly Entry[] {
  const reader = new LaneReader(base);
  const placed = entries.map((entry) => ({ entry, lane: reader.read(entry) }));
  const wanted = lane ?? reader.active;
  return placed.flatMap((one) => (one.lane === wanted && !reader.isMalformed(one.entry) ? [one.entry] : []));
}

/**
 * The messages of these entries of one lane: the originals, or written in the format. For a page, messages of AI SDK 4 are
 * rewritten in the form of later versions.
 */
export function messagesFrom(
  entries: readonly Entry[],
  wanted: unknown,
  { isForPage = false }: { readonly isForPage?: boolean } = {},
): readonly unknown[] {
  const items = itemsOf(entries);
  const came = items.map(({ original }) => original["format"]).find(isFormat);
  const format = wanted === undefined ? (came ?? "neutral") : checkFormat(wanted);
  const messages: unknown[] = [];
  let open: Item[] = [];
  const flush = (): void => {
    const said = format === "ui-messages" ? open.flatMap(withOutput) : open.map((item) => item.said);
    messages.push(...listOf(restored(written(write(format, said), "messages"))));
    open = [];
  };
  for (const [index, item] of items.entries()) {
    open.push(item);
    const { format: from, entries: count = 1, messages: kept } = item.original;
    if (!isFormat(from) || Number(count) > open.length) continue;
    const group = withGivenOutputs(open.splice(-Number(count)), from, kept);
    if (from !== format || (format === "ui-messages" && isLateResult(items[index + 1]))) {
      open.push(...group);
      continue;
    }
    flush();
    open = [...group];
    if (kept === undefined || (isForPage && listOf(kept).some(isOfVersion4))) flush();
    else messages.push(...listOf(restoredFrom(open.splice(0), kept)));
  }
  flush();
  return messages;
}

/** Adds the tool outputs from the original messages to the results. */
function withGivenOutputs(group: readonly Item[], from: MessageFormat, kept: JsonValue | undefined): readonly Item[] {
  if (from !== "model-messages" && from !== "ui-messages") return group;
  const given = outputsIn(kept === undefined ? [] : listOf(restoredFrom(group, kept, true)));
  return group.map((item) => {
    const { role, toolCallId = "", content } = item.said;
    if (role !== "tool") return item;
    // Without an original message, the text is the tool's output, even if it is JSON.
    const text = typeof content === "string" ? content : undefined;
    const { [0]: output = text } = given.get(toolCallId)?.splice(0, 1) ?? [];
    return { ...item, said: { ...item.said, output } };
  });
}

/** For a page: parses objects and lists in result texts, and drops blank messages of other formats. */
function withOutput({ said, original }: Item): readonly Spoken[] {
  const { role, content, toolCalls, output } = said;
  const isForeign = isFormat(original["format"]) && original["format"] !== "ui-messages";
  if (isForeign && role === "assistant" && content === "" && toolCalls === undefined) return [];
  if (role !== "tool" || output !== undefined || typeof content !== "string") return [said];
  return [{ ...said, output: structureIn(content) }];
}

/** Whether a result follows that was not in the original. In useChat it changes the message of its call. */
function isLateResult(item: Item | undefined): boolean {
  return item?.said.role === "tool" && item.entry.refs["messageId"] === undefined;
}

function restoredFrom(group: readonly Item[], kept: JsonValue, plain = false): unknown {
  const payloads = group.map(({ entry: { payload } }): JsonObject => ({ ...payload, original: undefined }));
  const path = `entries[${group.at(-1)?.entry.seq}].payload.original`;
  return reading(path, "invalid_message", () => restored(kept, textsIn(payloads), plain));
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value];
}

function itemsOf(entries: readonly Entry[]): readonly Item[] {
  const items: Item[] = [];
  const ids = new Set<string>();
  for (const entry of entries) {
    const { kind, refs, seq } = entry;
    const message = messageOf(entry);
    if (message === undefined) continue;
    const said = readNeutral(new Field(message, `entries[${seq}].payload`));
    const { original } = entry.payload as JsonObject; // payloads are JSON
    const before = items.at(-1);
    // Calls of one response are separate entries after its text.
    const isMore =
      kind === "tool_call" && before?.said.role === "assistant" && before.entry.refs.callId === refs.callId;
    const id = isMore ? before.said.id : idOf(entry, said, ids);
    ids.add(id);
    const item = {
      entry,
      said: isMore ? joined(before.said, said) : { ...said, id },
      original: isPlainObject(original) ? (original as JsonObject) : {},
    };
    if (isMore) items[items.length - 1] = item;
    else items.push(item);
  }
  return items;
}

/**
 * The id of a message that begins with this entry. An imported message keeps its id. In a request, all entries refer to the
 * user message. Only that message has its id; an answer has the id of the request, as in `toUIMessages`.
 */
function idOf({ id, payload, refs }: Entry, { role }: Said, used: ReadonlySet<string>): string {
  const { original, steer }: JsonObject = payload;
  const { messageId, requestId } = refs;
  if (original !== undefined || requestId === undefined) return typeof messageId === "string" ? messageId : id;
  const isAsk = role === "user" && steer === undefined;
  const wanted = isAsk ? messageId : role === "user" ? undefined : requestId;
  return typeof wanted === "string" && !used.has(wanted) ? wanted : id;
}

function joined(a: Spoken, b: Said): Spoken {
  return { ...a, toolCalls: [...(a.toolCalls ?? []), ...(b.toolCalls ?? [])] };
}

/** The neutral message in a payload. Not checked. */
function messageOf({ id: entryId, kind, payload, refs }: Entry): JsonObject | undefined {
  const { toolCallId = refs.toolCallId, thinking, content = "", ...message }: JsonObject = payload;
  switch (kind) {
    case "message":
    case "ai_message": {
      if (!thinking) return { ...message, content, toolCallId };
      const before = typeof thinking === "string" ? { type: "thinking", text: thinking } : thinking;
      const parts = typeof content === "string" ? partsOf(content) : content;
      return { ...message, content: [before, parts].flat() as JsonValue };
    }
    case "tool_call":
      return { role: "assistant", content, toolCalls: [{ id: toolCallId ?? entryId, ...message }] };
    case "tool_result":
      return { ...message, role: "tool", toolCallId, ...resultText(payload.result) };
    case "ai_context_operation": {
      const { systemPrompt = "" } = payload.operation.resultContext ?? {};
      return message["original"] === undefined ? undefined : { role: "system", content: systemPrompt };
    }
    default:
      return undefined;
  }
}
