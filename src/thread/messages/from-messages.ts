import type { EntryInput } from "../entry.ts";
import { ThreadError } from "../errors.ts";
import { fieldsOf, type JsonObject, type JsonValue, sameJson } from "../json.ts";
import { refuseUnknownOptions } from "../option-names.ts";
import type { Ids } from "../ports.ts";
import { bodyOf } from "./ai-sdk-4.ts";
import { decisionsIn } from "./approval.ts";
import { Field } from "./field.ts";
import { checkFormat, formatOf, type MessageFormat, refuseForeign, refuseUi } from "./formats.ts";
import { readNeutral } from "./neutral.ts";
import { type Known, readMessage } from "./read.ts";
import type { Said } from "./said.ts";
import { restored, shared, textsIn, written } from "./verbatim.ts";
import { write } from "./write.ts";

/** Messages of the list and their content. One message may become several entries; leading system messages become one. */
interface Group {
  readonly messages: readonly JsonValue[];
  readonly said: readonly Said[];
  readonly id: string | undefined;
}

/**
 * The entries of a message list. They name no lane, so they belong to the active lane where they are appended. Leading
 * system messages become the prompt of that lane.
 */
export function entriesFrom(list: unknown, wanted: unknown, ids: Ids, drop: boolean): readonly EntryInput[] {
  const path = "messages";
  const given = wanted === undefined ? undefined : checkFormat(wanted);
  const source = written(list, path);
  const messages = new Field(restored(source, [], true) as JsonValue, path); // plain JSON
  if (!messages.given) throw messages.refused("must be a list");
  const values = messages.list.map(({ value = null }) => value);
  refuseForeign(values);
  const format = given ?? formatOf(values);
  if (format !== "ui-messages") refuseUi(values, format);
  const known = { names: new Map<string, string>(), decisions: decisionsIn(messages.list) };
  const groups = messages.list.map((message, index): Group => {
    const id = message.at("id").value;
    const said = read(format, message, known);
    return {
      messages: [(source as readonly JsonValue[])[index] ?? null],
      said,
      id: typeof id === "string" ? id : undefined,
    };
  });
  const end = groups.findIndex(({ said }) => said[0]?.role !== "system");
  const [lead, rest] = end === -1 ? [groups, []] : [groups.slice(0, end), groups.slice(end)];
  return [...(drop ? [] : promptOf(lead, format, ids)), ...rest.flatMap((group) => entriesOf(group, format))];
}

/** Adds the model call to the answers: their thinking is sent again only to the model that is named there. */
export function withCall(entries: readonly EntryInput[], given: unknown): readonly EntryInput[] {
  const path = "options.call";
  const fields = fieldsOf(given, path, "invalid_options");
  refuseUnknownOptions(path, fields, { model: true, fingerprint: true });
  const { model, fingerprint } = fields as { readonly model?: unknown; readonly fingerprint?: unknown };
  if (typeof model !== "string" || (fingerprint !== undefined && typeof fingerprint !== "string")) {
    const message = `${path} must be { model, fingerprint } of texts: what project was told, and meta.fingerprint that it gave.`;
    throw new ThreadError({ code: "invalid_options", path, message });
  }
  const call = { model, ...(fingerprint !== undefined && { fingerprint }) };
  return entries.map((entry) =>
    entry.payload?.["role"] === "assistant" ? { ...entry, payload: { ...entry.payload, call } } : entry,
  );
}

function read(format: MessageFormat, message: Field, known: Known): readonly Said[] {
  if (format === "neutral") return [readNeutral(message)];
  return readMessage(message, format === "ui-messages" ? bodyOf(message) : message.at("content"), known);
}

/** A replace that sets the prompt of the lane. The prompt applies to projections until the next replace. */
function promptOf(lead: readonly Group[], format: MessageFormat, ids: Ids): readonly EntryInput[] {
  if (lead.length === 0) return [];
  const text = lead.flatMap(({ said }) => said.map(({ content }) => content)).join("\n\n");
  const content = text.trim() === "" ? "" : text;
  const resultContext = { id: ids("context"), ...(content && { systemPrompt: content }), entries: [] };
  const payload = { opId: ids("op"), operation: { type: "replace", reason: "restore", resultContext } };
  const messages = lead.flatMap(({ messages }) => messages);
  const id = lead.length === 1 ? lead[0]?.id : undefined;
  const original = originalOf({ messages, said: [{ role: "system", content }], id }, [payload], format);
  return [{ kind: "ai_context_operation", payload: { ...payload, original }, refs: refsOf(id) }];
}

function entriesOf(group: Group, format: MessageFormat): readonly EntryInput[] {
  // A message without content for a model becomes a blank entry, which is not shown, so that its place is kept.
  const said: readonly Said[] = group.said.length > 0 ? group.said : [{ role: "assistant", content: "" }];
  const payloads = said.map((message) => ({ ...message }) as unknown as JsonObject); // its fields are JSON
  const original = originalOf({ ...group, said }, payloads, format);
  // A neutral message equals its entry, so it needs no original.
  const isMarked = format !== "neutral" || original["messages"] !== undefined;
  return payloads.map((payload, index) => ({
    kind: "ai_message",
    payload: isMarked && index === payloads.length - 1 ? { ...payload, original } : payload,
    refs: refsOf(group.id, said[index]?.toolCallId),
  }));
}

function refsOf(messageId?: string, toolCallId?: string): { readonly [key: string]: string } {
  return { ...(messageId !== undefined && { messageId }), ...(toolCallId !== undefined && { toolCallId }) };
}

/** Stored in the last entry of a group: the format, and the original messages if the entries cannot reproduce them. */
function originalOf({ messages, said, id = "" }: Group, payloads: JsonValue, format: MessageFormat): JsonObject {
  const again = written(
    write(
      format,
      said.map((message) => ({ ...message, id })),
    ),
    "messages",
  );
  return {
    format,
    ...(said.length > 1 && { entries: said.length }),
    ...(!sameJson(again, messages) && { messages: shared(messages, textsIn(payloads)) }),
  };
}
