import type { JsonObject, JsonValue } from "../../thread/json.ts";
import { isPlainObject } from "../../thread/json.ts";
import type { V4CallOptions } from "./language-model.ts";
import { snapshotObject } from "./snapshot.ts";

export interface AskedCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonValue;
}

export interface AskedResult {
  readonly id: string;
  readonly name: string;
  readonly value: JsonValue;
  readonly isError?: true;
}

/** A message of a prompt in short form. Absent fields are omitted. Several texts are joined by a newline. */
export interface AskedMessage {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly text?: string;
  readonly thinking?: string;
  readonly calls?: readonly AskedCall[];
  readonly results?: readonly AskedResult[];
  /** The media types of the files. */
  readonly files?: readonly string[];
}

/** A request to the model, as a frozen copy. */
export interface ScriptedRequest {
  /** From 1. */
  readonly number: number;
  readonly streaming: boolean;
  /** The text of the leading system messages; "" when there are none. */
  readonly system: string;
  /** The prompt behind its system prompt. */
  readonly messages: readonly AskedMessage[];
  /** The text of the last user message; "" when there is none. */
  readonly lastUser: string;
  /** The names of the tools that are offered. */
  readonly tools: readonly string[];
  /** All call options except the abort signal, as plain data: prompt, tools, temperature and so on. */
  readonly options: JsonObject;
}

export function requestOf(given: V4CallOptions, number: number, streaming: boolean): ScriptedRequest {
  const options = snapshotObject(given);
  const prompt = objectsIn(options["prompt"]);
  const firstOther = prompt.findIndex(({ role }) => role !== "system");
  const front = firstOther < 0 ? prompt : prompt.slice(0, firstOther);
  const messages = prompt.slice(front.length).map(messageOf);
  return Object.freeze({
    number,
    streaming,
    system: front.map(({ content }) => textOf(content)).join("\n"),
    messages: Object.freeze(messages),
    lastUser: messages.findLast(({ role }) => role === "user")?.text ?? "",
    tools: Object.freeze(objectsIn(options["tools"]).map(({ name }) => textOf(name))),
    options,
  });
}

function messageOf({ role, content }: JsonObject): AskedMessage {
  const parts = typeof content === "string" ? [{ type: "text", text: content }] : objectsIn(content);
  const of = (...types: readonly string[]) => parts.filter(({ type }) => types.includes(textOf(type)));
  const text = of("text");
  const thinking = of("reasoning");
  const calls = of("tool-call");
  const results = of("tool-result");
  const files = of("file", "reasoning-file");
  return Object.freeze({
    role: role as AskedMessage["role"], // the provider spec has no other
    ...(text.length > 0 && { text: joined(text) }),
    ...(thinking.length > 0 && { thinking: joined(thinking) }),
    ...(calls.length > 0 && { calls: Object.freeze(calls.map(callOf)) }),
    ...(results.length > 0 && { results: Object.freeze(results.map(resultOf)) }),
    ...(files.length > 0 && { files: Object.freeze(files.map(({ mediaType }) => textOf(mediaType))) }),
  });
}

function callOf({ toolCallId, toolName, input }: JsonObject): AskedCall {
  return Object.freeze({ id: textOf(toolCallId), name: textOf(toolName), arguments: input ?? null });
}

function resultOf({ toolCallId, toolName, output }: JsonObject): AskedResult {
  const { type = "", value, reason }: JsonObject = isPlainObject(output) ? output : {};
  const isError = textOf(type).startsWith("error-") || type === "execution-denied";
  return Object.freeze({
    id: textOf(toolCallId),
    name: textOf(toolName),
    value: value ?? reason ?? null,
    ...(isError && { isError }),
  });
}

function joined(parts: readonly JsonObject[]): string {
  return parts.map(({ text }) => textOf(text)).join("\n");
}

function objectsIn(value: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter((item: JsonValue): item is JsonObject => isPlainObject(item)) : [];
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}
