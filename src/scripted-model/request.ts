import { isPlainObject, type JsonObject, type JsonValue } from "../thread/json.ts";
import type { V4CallOptions } from "./language-model.ts";

/** A tool call in a message of a request. */
export interface RequestToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonValue;
}

/** A tool result in a message of a request. */
export interface RequestToolResult {
  readonly id: string;
  readonly name: string;
  readonly value: JsonValue;
  readonly isError?: true;
}

/** A message of a prompt in short form. Fields without a value are absent. Several texts are joined by a newline. */
export interface RequestMessage {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly text?: string;
  readonly thinking?: string;
  readonly calls?: readonly RequestToolCall[];
  readonly results?: readonly RequestToolResult[];
  /** The media types of the files. */
  readonly files?: readonly string[];
}

/** A frozen copy of a request to the model. */
export interface ScriptedRequest {
  /** From 1. */
  readonly number: number;
  readonly streaming: boolean;
  /** The text of the leading system messages. "" if there are none. */
  readonly system: string;
  /** The messages after the leading system messages. */
  readonly messages: readonly RequestMessage[];
  /** The text of the last user message. "" if there is none. */
  readonly lastUser: string;
  /** The names of the tools that the request offers. */
  readonly tools: readonly string[];
  /** All call options except the abort signal, as plain data: prompt, tools, temperature and others. */
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

function messageOf({ role, content }: JsonObject): RequestMessage {
  const parts = typeof content === "string" ? [{ type: "text", text: content }] : objectsIn(content);
  const of = (...types: readonly string[]) => parts.filter(({ type }) => types.includes(textOf(type)));
  const text = of("text");
  const thinking = of("reasoning");
  const calls = of("tool-call");
  const results = of("tool-result");
  const files = of("file", "reasoning-file");
  return Object.freeze({
    role: role as RequestMessage["role"], // the AI SDK specification has only these roles
    ...(text.length > 0 && { text: joined(text) }),
    ...(thinking.length > 0 && { thinking: joined(thinking) }),
    ...(calls.length > 0 && { calls: Object.freeze(calls.map(callOf)) }),
    ...(results.length > 0 && { results: Object.freeze(results.map(resultOf)) }),
    ...(files.length > 0 && { files: Object.freeze(files.map(({ mediaType }) => textOf(mediaType))) }),
  });
}

function callOf({ toolCallId, toolName, input }: JsonObject): RequestToolCall {
  return Object.freeze({ id: textOf(toolCallId), name: textOf(toolName), arguments: input ?? null });
}

function resultOf({ toolCallId, toolName, output }: JsonObject): RequestToolResult {
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

/**
 * Makes a deep-frozen copy as plain data. URLs and dates become text, and bytes a note with their count. Functions,
 * abort signals and other values that are not data are omitted.
 */
export function snapshot(value: unknown): JsonValue | undefined {
  switch (typeof value) {
    case "string":
    case "number":
    case "boolean":
      return value;
    case "bigint":
      return String(value);
    case "object":
      return value === null ? null : snapshotOf(value);
    default:
      return undefined;
  }
}

function snapshotObject(value: object): JsonObject {
  const items = Object.entries(value).map(([key, item]) => [key, snapshot(item)] as const);
  return Object.freeze(Object.fromEntries(items.filter(([, item]) => item !== undefined)));
}

function snapshotOf(value: object): JsonValue | undefined {
  if (Array.isArray(value)) return Object.freeze(value.map((item) => snapshot(item) ?? null));
  if (value instanceof URL) return value.href;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  return isPlainObject(value) ? snapshotObject(value) : undefined;
}
