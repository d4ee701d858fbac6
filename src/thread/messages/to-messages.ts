import type { Entry } from "../entry.ts";
import { ThreadError } from "../errors.ts";
import { isPlainObject, type JsonObject, type JsonValue, readSafely } from "../json.ts";
import { resultText } from "../message.ts";
import type { OptionNames } from "../options.ts";
import type { ThreadBase } from "../thread-data.ts";
import { isVersion4Message, toCurrentParts } from "./ai-sdk-4.ts";
import { Field } from "./field.ts";
import { checkFormat, isFormat, type MessageFormat } from "./formats.ts";
import { pathEntries, readLanes } from "./lane-path.ts";
import { contentParts, type MessageWithId, type NeutralMessage, readNeutral } from "./neutral-message.ts";
import { collectTexts, decodeOriginal, encodeOriginal } from "./original.ts";
import { writeMessages } from "./write.ts";

/** The message in an entry, and the stored facts about its original. */
interface Item {
  readonly entry: Entry;
  readonly neutral: MessageWithId;
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

export const TO_MESSAGES_OPTIONS: OptionNames<ToMessagesOptions> = { format: true, lane: true, partial: true };

export function checkLane(lane: unknown): string | undefined {
  if (lane === undefined || (typeof lane === "string" && lane !== "")) return lane;
  const path = "options.lane";
  throw new ThreadError({ code: "invalid_options", path, message: `${path} must be the name of a lane.` });
}

/**
 * The entries of one lane, by default the active lane at the end, without malformed operations. Those that a branch shares
 * with the lane that it left come first. `base` holds facts about the entries before the first one.
 */
export function laneEntries(
  entries: readonly Entry[],
  { lane, base }: { readonly lane?: string | undefined; readonly base?: ThreadBase | undefined } = {},
): readonly Entry[] {
  const lanes = readLanes(entries, base);
  return pathEntries(lanes, lane ?? lanes.active);
}

/**
 * The messages of these entries of one lane: the originals, or written in the format. For a page, messages of AI SDK 4 are
 * rewritten in the form of later versions.
 */
export function messagesFromEntries(
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
    const neutral = format === "ui-messages" ? open.flatMap(withOutput) : open.map((item) => item.neutral);
    messages.push(...listOf(decodeOriginal(encodeOriginal(writeMessages(format, neutral), "messages"))));
    open = [];
  };
  for (const [index, item] of items.entries()) {
    open.push(item);
    const { format: from, entries: count = 1, messages: original } = item.original;
    if (!isFormat(from) || Number(count) > open.length) continue;
    const group = withOriginalOutputs(open.splice(-Number(count)), from, original);
    if (from !== format || (format === "ui-messages" && isLateResult(items[index + 1]))) {
      open.push(...group);
      continue;
    }
    flush();
    open = [...group];
    if (original === undefined || (isForPage && listOf(original).some(isVersion4Message))) flush();
    else messages.push(...listOf(decodeGroup(open.splice(0), original)));
  }
  flush();
  return messages;
}

/** Adds the tool outputs from the original messages to the results. */
function withOriginalOutputs(
  group: readonly Item[],
  from: MessageFormat,
  original: JsonValue | undefined,
): readonly Item[] {
  if (from !== "model-messages" && from !== "ui-messages") return group;
  const outputs = toolOutputs(original === undefined ? [] : listOf(decodeGroup(group, original, true)));
  return group.map((item) => {
    const { role, toolCallId = "", content } = item.neutral;
    if (role !== "tool") return item;
    // Without an original message, the text is the tool's output, even if it is JSON.
    const text = typeof content === "string" ? content : undefined;
    const { [0]: output = text } = outputs.get(toolCallId)?.splice(0, 1) ?? [];
    return { ...item, neutral: { ...item.neutral, output } };
  });
}

/** For a page: parses objects and lists in result texts, and drops blank messages of other formats. */
function withOutput({ neutral, original }: Item): readonly MessageWithId[] {
  const { role, content, toolCalls, output } = neutral;
  const isForeign = isFormat(original["format"]) && original["format"] !== "ui-messages";
  if (isForeign && role === "assistant" && content === "" && toolCalls === undefined) return [];
  if (role !== "tool" || output !== undefined || typeof content !== "string") return [neutral];
  return [{ ...neutral, output: parseStructure(content) }];
}

/** Whether a result follows that was not in the original. In useChat it changes the message of its call. */
function isLateResult(item: Item | undefined): boolean {
  return item?.neutral.role === "tool" && item.entry.refs["messageId"] === undefined;
}

function decodeGroup(group: readonly Item[], original: JsonValue, plain = false): unknown {
  const payloads = group.map(({ entry: { payload } }): JsonObject => ({ ...payload, original: undefined }));
  const path = `entries[${group.at(-1)?.entry.seq}].payload.original`;
  return readSafely(path, "invalid_message", () => decodeOriginal(original, collectTexts(payloads), plain));
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
    const neutral = readNeutral(new Field(message, `entries[${seq}].payload`));
    const { original } = entry.payload as JsonObject; // every payload is a JSON object
    const before = items.at(-1);
    // Calls of one response are separate entries after its text.
    const isMore =
      kind === "tool_call" && before?.neutral.role === "assistant" && before.entry.refs.callId === refs.callId;
    const id = isMore ? before.neutral.id : idOf(entry, neutral, ids);
    ids.add(id);
    const item = {
      entry,
      neutral: isMore ? joined(before.neutral, neutral) : { ...neutral, id },
      original: isPlainObject(original) ? (original as JsonObject) : {},
    };
    if (isMore) items[items.length - 1] = item;
    else items.push(item);
    editCall(items, entry);
  }
  return items;
}

/** A call whose arguments were edited is written with those that it ran with. */
function editCall(items: Item[], { payload, refs }: Entry): void {
  const { editedArguments, toolCallId = refs.toolCallId }: JsonObject = payload;
  if (editedArguments === undefined) return;
  const at = items.findLastIndex(({ neutral }) => neutral.toolCalls?.some(({ id }) => id === toolCallId));
  const item = items[at];
  if (item === undefined) return;
  const toolCalls = item.neutral.toolCalls?.map((call) =>
    call.id === toolCallId ? { ...call, arguments: editedArguments } : call,
  );
  items[at] = { ...item, neutral: { ...item.neutral, ...(toolCalls && { toolCalls }) } };
}

/**
 * The id of a message that begins with this entry. An imported message keeps its id. In a request, all entries refer to the
 * user message. Only that message has its id; an answer has the id of the request, as in `toUIMessages`.
 */
function idOf({ id, payload, refs }: Entry, { role }: NeutralMessage, used: ReadonlySet<string>): string {
  const { original, steer }: JsonObject = payload;
  const { messageId, requestId } = refs;
  if (original !== undefined || requestId === undefined) return typeof messageId === "string" ? messageId : id;
  const isAsk = role === "user" && steer === undefined;
  const wanted = isAsk ? messageId : role === "user" ? undefined : requestId;
  return typeof wanted === "string" && !used.has(wanted) ? wanted : id;
}

function joined(a: MessageWithId, b: NeutralMessage): MessageWithId {
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
      const parts = typeof content === "string" ? contentParts(content) : content;
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

/** Tool outputs in messages of the AI SDK, by call id. A list, because an id may repeat. */
function toolOutputs(messages: readonly unknown[]): Map<string, JsonValue[]> {
  const outputs = new Map<string, JsonValue[]>();
  const parts = messages.flatMap((message) => {
    const { parts, content, toolInvocations } = (isPlainObject(message) ? message : {}) as JsonObject; // imported messages are JSON
    const early = jsonList(toolInvocations).map((one) => ({ type: "tool-invocation", toolInvocation: one }));
    return [...(jsonList(parts).length > 0 ? jsonList(parts) : early), ...jsonList(content)];
  });
  for (const anyPart of parts) {
    const part = currentPart(anyPart);
    if (!isPlainObject(part) || typeof part["toolCallId"] !== "string") continue;
    const output = outputOf(part as JsonObject);
    if (output === undefined) continue;
    const known = outputs.get(part["toolCallId"]) ?? [];
    outputs.set(part["toolCallId"], [...known, output]);
  }
  return outputs;
}

function jsonList(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : []; // Array.isArray forgets readonly lists
}

function currentPart(part: JsonValue): JsonValue {
  const isOld = isPlainObject(part) && part["type"] === "tool-invocation";
  return isOld ? (toCurrentParts(new Field(part, "part"))[0]?.value ?? part) : part;
}

function outputOf({ type, state, output, result }: JsonObject): JsonValue | undefined {
  if (state !== undefined) return state === "output-available" ? output : undefined;
  if (type !== "tool-result") return undefined;
  if (!isPlainObject(output)) return result; // the output was stored by an AI SDK before version 5
  const { type: kind, value } = output as JsonObject;
  return kind === "json" || kind === "text" ? value : undefined;
}

/** Parses text that JSON.stringify wrote of an object or list. Other text, even other JSON, gives undefined. */
export function parseStructure(text: string): JsonValue | undefined {
  if (!/^[[{]/.test(text)) return undefined;
  try {
    const value: JsonValue = JSON.parse(text);
    return JSON.stringify(value) === text ? value : undefined;
  } catch {
    return undefined;
  }
}
