import type { Entry } from "../entry.ts";
import { isPlainObject, type JsonObject, type JsonValue, reading } from "../json.ts";
import { resultText } from "../results.ts";
import { Field } from "./field.ts";
import { checkFormat, isFormat } from "./formats.ts";
import { readNeutral } from "./neutral.ts";
import { partsOf, type Said, type Spoken } from "./said.ts";
import { restored, textsIn, written } from "./verbatim.ts";
import { write } from "./write.ts";

/** What an entry says, and what is known of the message it was. */
interface Item {
  readonly entry: Entry;
  readonly said: Spoken;
  readonly original: JsonObject;
  readonly lane: unknown;
}

/** The messages of the lane that is active at the end, as they came or as the format writes them. */
export function messagesFrom(entries: readonly Entry[], wanted: unknown): readonly unknown[] {
  const items = itemsOf(entries);
  const came = items.map(({ original }) => original["format"]).find(isFormat);
  const format = wanted === undefined ? (came ?? "neutral") : checkFormat(wanted);
  const messages: unknown[] = [];
  let open: Item[] = [];
  const flush = (): void => {
    const made = written(
      write(
        format,
        open.map(({ said }) => said),
      ),
      "messages",
    );
    messages.push(...listOf(restored(made)));
    open = [];
  };
  for (const [index, item] of items.entries()) {
    open.push(item);
    const { format: from, entries: count = 1, messages: kept } = item.original;
    if (from !== format || Number(count) > open.length) continue;
    if (format === "ui-messages" && isLateResult(items[index + 1])) continue;
    const group = open.splice(-Number(count));
    flush();
    open = group;
    if (kept === undefined) flush();
    else messages.push(...listOf(restoredFrom(open.splice(0), kept)));
  }
  flush();
  return messages;
}

/** In useChat the result of a call stands in the message of the call, which is then no longer what it was. */
function isLateResult(item: Item | undefined): boolean {
  return item?.said.role === "tool" && item.entry.refs["messageId"] === undefined;
}

function restoredFrom(group: readonly Item[], kept: JsonValue): unknown {
  const payloads = group.map(({ entry: { payload } }): JsonObject => ({ ...payload, original: undefined }));
  const path = `entries[${group.at(-1)?.entry.seq}].payload.original`;
  return reading(path, "invalid_message", () => restored(kept, textsIn(payloads)));
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value];
}

function itemsOf(entries: readonly Entry[]): readonly Item[] {
  const items: Item[] = [];
  let active: unknown = "default";
  for (const entry of entries) {
    const { kind, refs, seq } = entry;
    const payload: JsonObject = entry.payload;
    const lane = payload["contextRef"] || active;
    const { operation, original } = payload;
    if (kind === "ai_context_operation" && isPlainObject(operation) && operation["type"] === "switch") active = lane;
    const message = messageOf(entry);
    if (message === undefined) continue;
    const said = readNeutral(new Field(message, `entries[${seq}].payload`));
    const { messageId } = refs;
    const item = {
      entry,
      said: { ...said, id: typeof messageId === "string" ? messageId : entry.id },
      original: isPlainObject(original) ? (original as JsonObject) : {},
      lane,
    };
    const before = items.at(-1);
    // Calls of one response stand in entries of their own, behind its text and each other.
    if (kind === "tool_call" && before?.said.role === "assistant" && before.entry.refs.callId === refs.callId) {
      items[items.length - 1] = { ...item, said: joined(before.said, said) };
    } else items.push(item);
  }
  return items.filter(({ lane }) => lane === active);
}

function joined(a: Spoken, b: Said): Spoken {
  return { ...a, toolCalls: [...(a.toolCalls ?? []), ...(b.toolCalls ?? [])] };
}

/** The neutral message in a payload, as unchecked as the log. */
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
