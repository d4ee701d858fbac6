import { portableSha256 } from "../encoding.ts";
import type { EntryInput } from "../entry.ts";
import { ThreadError } from "../errors.ts";
import { fieldsOf, type JsonObject, type JsonValue, sameJson } from "../json.ts";
import { type OptionNames, refuseUnknownOptions } from "../options.ts";
import type { Ids } from "../ports.ts";
import { messageBody } from "./ai-sdk-4.ts";
import { readDecisions } from "./approval.ts";
import { Field } from "./field.ts";
import { checkFormat, detectFormat, type MessageFormat, refuseUiMessages, refuseUnsupported } from "./formats.ts";
import { type NeutralMessage, readNeutral } from "./neutral-message.ts";
import { collectTexts, decodeOriginal, encodeOriginal, shareTexts } from "./original.ts";
import { type ListFacts, readMessage } from "./read.ts";
import { writeMessages } from "./write.ts";

/** Messages of the list and their content. One message may become several entries; leading system messages become one. */
interface Group {
  readonly messages: readonly JsonValue[];
  readonly neutral: readonly NeutralMessage[];
  readonly id: string | undefined;
}

/**
 * The entries of a message list. They name no lane, so they belong to the active lane where they are appended. Leading
 * system messages become the prompt of that lane.
 */
export function entriesFromMessages(list: unknown, wanted: unknown, ids: Ids, drop: boolean): readonly EntryInput[] {
  const path = "messages";
  const chosen = wanted === undefined ? undefined : checkFormat(wanted);
  const source = encodeOriginal(list, path);
  const messages = new Field(decodeOriginal(source, [], true) as JsonValue, path); // plain JSON
  if (!messages.isPresent) throw messages.error("must be a list");
  const values = messages.list.map(({ value = null }) => value);
  refuseUnsupported(values);
  const format = chosen ?? detectFormat(values);
  if (format !== "ui-messages") refuseUiMessages(values, format);
  const known = { names: new Map<string, string>(), decisions: readDecisions(messages.list) };
  const groups = messages.list.map((message, index): Group => {
    const id = message.at("id").value;
    const neutral = read(format, message, known);
    return {
      messages: [(source as readonly JsonValue[])[index] ?? null],
      neutral,
      id: typeof id === "string" ? id : undefined,
    };
  });
  const end = groups.findIndex(({ neutral }) => neutral[0]?.role !== "system");
  const [lead, rest] = end === -1 ? [groups, []] : [groups.slice(0, end), groups.slice(end)];
  return [...(drop ? [] : promptOf(lead, format, ids)), ...rest.flatMap((group) => entriesOf(group, format))];
}

/** Adds the model call to the answers: their thinking is sent again only to the model that is named there. */
export function withModelCall(entries: readonly EntryInput[], value: unknown): readonly EntryInput[] {
  const path = "options.call";
  const fields = fieldsOf(value, path, "invalid_options");
  refuseUnknownOptions(path, fields, { model: true, fingerprint: true });
  const { model, fingerprint } = fields as { readonly model?: unknown; readonly fingerprint?: unknown };
  if (typeof model !== "string" || (fingerprint !== undefined && typeof fingerprint !== "string")) {
    const message = `${path} must be { model, fingerprint } of texts: the model that was passed to project, and its meta.fingerprint.`;
    throw new ThreadError({ code: "invalid_options", path, message });
  }
  const call = { model, ...(fingerprint !== undefined && { fingerprint }) };
  return entries.map((entry) =>
    entry.payload?.["role"] === "assistant" ? { ...entry, payload: { ...entry.payload, call } } : entry,
  );
}

function read(format: MessageFormat, message: Field, known: ListFacts): readonly NeutralMessage[] {
  if (format === "neutral") return [readNeutral(message)];
  return readMessage(message, format === "ui-messages" ? messageBody(message) : message.at("content"), known);
}

/** A replace that sets the prompt of the lane. The prompt applies to projections until the next replace. */
function promptOf(lead: readonly Group[], format: MessageFormat, ids: Ids): readonly EntryInput[] {
  if (lead.length === 0) return [];
  const text = lead.flatMap(({ neutral }) => neutral.map(({ content }) => content)).join("\n\n");
  const content = text.trim() === "" ? "" : text;
  const resultContext = { id: ids("context"), ...(content && { systemPrompt: content }), entries: [] };
  const payload = { opId: ids("op"), operation: { type: "replace", reason: "restore", resultContext } };
  const messages = lead.flatMap(({ messages }) => messages);
  const id = lead.length === 1 ? lead[0]?.id : undefined;
  const original = originalOf({ messages, neutral: [{ role: "system", content }], id }, [payload], format);
  return [{ kind: "ai_context_operation", payload: { ...payload, original }, refs: refsOf(id) }];
}

function entriesOf(group: Group, format: MessageFormat): readonly EntryInput[] {
  // A message without content for a model becomes a blank entry, which is not shown, so that its place is kept.
  const neutral: readonly NeutralMessage[] =
    group.neutral.length > 0 ? group.neutral : [{ role: "assistant", content: "" }];
  const payloads = neutral.map((message) => ({ ...message }) as unknown as JsonObject); // its fields are JSON
  const original = originalOf({ ...group, neutral }, payloads, format);
  // A neutral message equals its entry, so it needs no original.
  const isMarked = format !== "neutral" || original["messages"] !== undefined;
  return payloads.map((payload, index) => ({
    kind: "ai_message",
    payload: isMarked && index === payloads.length - 1 ? { ...payload, original } : payload,
    refs: refsOf(group.id, neutral[index]?.toolCallId),
  }));
}

function refsOf(messageId?: string, toolCallId?: string): { readonly [key: string]: string } {
  return { ...(messageId !== undefined && { messageId }), ...(toolCallId !== undefined && { toolCallId }) };
}

/** Stored in the last entry of a group: the format, and the original messages if the entries cannot reproduce them. */
function originalOf({ messages, neutral, id = "" }: Group, payloads: JsonValue, format: MessageFormat): JsonObject {
  const again = encodeOriginal(
    writeMessages(
      format,
      neutral.map((message) => ({ ...message, id })),
    ),
    "messages",
  );
  return {
    format,
    ...(neutral.length > 1 && { entries: neutral.length }),
    ...(!sameJson(again, messages) && { messages: shareTexts(messages, collectTexts(payloads)) }),
  };
}

/** The call that a step belongs to, and the format of its messages. */
export interface StepOptions {
  /** The id of the model call that gave these messages: your own, new for each call. */
  readonly callId: string;
  /** Default: the one that only these messages can have, as in `Thread.fromMessages`. */
  readonly format?: MessageFormat | undefined;
  /** The model that answered, under the name given to `project`. Without it, its thinking is not sent again. Default none. */
  readonly model?: string | undefined;
  /**
   * `meta.fingerprint` of the projection that the model was shown. Without it, the thinking is not sent again. Default
   * none.
   */
  readonly fingerprint?: string | undefined;
  /** Default: the lane that is active where the entries are appended. */
  readonly lane?: string | undefined;
  /** The ask that this is a step of, as a ref. Default none. */
  readonly requestId?: string | undefined;
}

const LONGEST_PART = 128;

const NAMES: OptionNames<StepOptions> = {
  callId: true,
  format: true,
  model: true,
  fingerprint: true,
  lane: true,
  requestId: true,
};

/**
 * The entries of one step of your own loop: what a model call answered, the results of its tools, or both. Their ids are made of
 * `callId` and the ids of the tool calls, so an append that is repeated lands once. `openCalls` says which calls have no result.
 *
 * @example
 * const message = { role: "assistant", content: "4" };
 * const entries = entriesOfStep([message], { callId: "call_1", format: "openai-chat", model: "openai:gpt-5" });
 * console.log(entries[0]?.id); // call_1:0
 */
export function entriesOfStep(messages: readonly unknown[], options: StepOptions): readonly EntryInput[] {
  refuseUnknownOptions("entriesOfStep", options, NAMES);
  const { callId, format, model, fingerprint, lane, requestId } = options;
  if (typeof callId !== "string" || callId === "") {
    const message = "options.callId must be an id: your own for this model call, such as a UUID made before it.";
    throw new ThreadError({ code: "invalid_options", path: "options.callId", message });
  }
  const call = { ...(model !== undefined && { model }), ...(fingerprint !== undefined && { fingerprint }) };
  const place = lane === undefined ? {} : { contextRef: lane };
  const ref = { callId, ...(requestId !== undefined && { requestId }) };
  let neutral = 0;
  return entriesFromMessages(messages, format, () => callId, true).map(({ payload = {}, refs, ...entry }) => {
    const isAnswer = payload["role"] === "assistant";
    const { toolCallId } = payload;
    return {
      ...entry,
      id: typeof toolCallId === "string" ? resultEntryId(callId, toolCallId) : `${callId}:${neutral++}`,
      payload: { ...payload, ...place, ...(isAnswer && Object.keys(call).length > 0 && { call }) },
      refs: { ...refs, ...ref },
    };
  });
}

/** The id of the entry of a result. It is made from the call, so that a call has one result. */
export function resultEntryId(callId: string, toolCallId: string): string {
  return `${callId}:result:${partOfId(toolCallId)}`;
}

/** Some servers put slashes, or kilobytes, into the ids of calls; ids of entries take neither. */
function partOfId(toolCallId: string): string {
  const part = encodeURIComponent(toolCallId);
  return part.length <= LONGEST_PART ? part : portableSha256(toolCallId);
}
