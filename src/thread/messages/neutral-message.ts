import { isPlainObject, type JsonValue } from "../json.ts";
import type { Content, Part, PartMetadata, ToolCall } from "../message.ts";
import { readApproval } from "./approval.ts";
import type { Field } from "./field.ts";

/** A neutral message with one type for all roles. */
export interface NeutralMessage {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content: Content;
  readonly toolCalls?: readonly ToolCall[];
  readonly toolCallId?: string;
  readonly name?: string;
  readonly isError?: boolean;
  readonly metadata?: PartMetadata;
}

/** A neutral message with the id of its source. */
export type MessageWithId = NeutralMessage & {
  readonly id: string;
  /** For a result: the output of the tool, if the text that the model reads does not hold it. */
  readonly output?: JsonValue | undefined;
};

/** A single text part without metadata becomes a string. */
export function toContent(parts: readonly Part[]): Content {
  const [first, ...others] = parts;
  if (first === undefined) return "";
  return others.length === 0 && first.type === "text" && first.metadata === undefined ? first.text : parts;
}

export function contentParts(content: Content): readonly Part[] {
  if (typeof content !== "string") return content;
  return content === "" ? [] : [{ type: "text", text: content }];
}

export function joinedText(content: Content): string {
  return contentParts(content)
    .flatMap((part) => (part.type === "text" ? [part.text] : []))
    .join("\n");
}

/** Makes an answer. Calls get places among the parts only if content follows a call. */
export function assistantMessage(parts: readonly Part[], toolCalls: readonly ToolCall[]): NeutralMessage {
  const isCall = ({ type }: Part): boolean => type === "tool_call";
  const neutral = parts.slice(0, parts.findLastIndex((part) => !isCall(part)) + 1);
  const content = toContent(neutral.some(isCall) ? parts : neutral);
  return { role: "assistant", content, ...(toolCalls.length > 0 && { toolCalls }) };
}

/** Parts and calls of an answer in order. Calls without a place come last. */
export function orderedParts({ content, toolCalls = [] }: NeutralMessage): readonly (Part | ToolCall)[] {
  const places = contentParts(content);
  const pieces = places.flatMap((part): readonly (Part | ToolCall)[] =>
    part.type === "tool_call" ? toolCalls.filter(({ id }) => id === part.id) : [part],
  );
  return [...pieces, ...toolCalls.filter((call) => !pieces.includes(call))];
}

/** Provider metadata, if the value is an object of objects. */
export function readMetadata(value: JsonValue | undefined, as = "metadata"): { readonly metadata?: PartMetadata } {
  const isMetadata = isPlainObject(value) && Object.values(value).every(isPlainObject);
  return isMetadata ? { [as]: value as PartMetadata } : {};
}

const ROLES = ["system", "user", "assistant", "tool"];

/** Reads a message in the form that `project` returns. */
export function readNeutral(message: Field): NeutralMessage {
  const role = message.at("role");
  const content = message.at("content");
  const toolCalls = message.at("toolCalls").list.map(readCall);
  const { value: isError } = message.at("isError");
  const name = message.at("name").optionalText;
  if (role.text === "developer") return { role: "system", content: joinedText(readContent(content)) };
  if (!ROLES.includes(role.text)) throw role.notOneOf(ROLES);
  return {
    role: role.text as NeutralMessage["role"],
    content: role.text === "system" ? content.text : readContent(content),
    ...(toolCalls.length > 0 && { toolCalls }),
    ...(role.text === "tool" && { toolCallId: message.at("toolCallId").text }),
    ...(name !== undefined && { name }),
    ...(typeof isError === "boolean" && { isError }),
    ...readMetadata(message.object["metadata"]),
  };
}

function readContent(content: Field): Content {
  return typeof content.value === "string" ? content.text : content.list.flatMap(readPart);
}

function readCall(call: Field): ToolCall {
  const { arguments: input = {}, metadata, approval } = call.object;
  const names = { id: call.at("id").text, name: call.at("name").text };
  return { ...names, arguments: input, ...readMetadata(metadata), ...readApproval(approval) };
}

/** The required text fields of each type of part. */
const TEXTS = new Map([
  ["text", ["text"]],
  ["thinking", ["text"]],
  ["file", ["mediaType"]],
  ["source", []],
  ["custom", []],
  ["provider_call", ["id", "name"]],
  ["provider_result", ["id", "name"]],
  ["tool_call", ["id"]],
]);

function readPart(part: Field): readonly Part[] {
  const texts = TEXTS.get(part.type);
  if (texts === undefined) return [];
  for (const name of texts) part.at(name).text;
  if (part.at("metadata").isPresent) part.at("metadata").object;
  if (part.type === "file") {
    const { url, base64 = url, blob = base64 } = part.at("data").object;
    if (typeof blob !== "string") throw part.at("data").error("must hold url, base64 or blob");
  }
  return [part.value as Part]; // checked above
}
