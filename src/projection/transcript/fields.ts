import { isPlainObject, type JsonObject, type JsonValue } from "../../thread/json.ts";
import type { Content, Part, PartMetadata, ThinkingPart, ToolCall } from "../../thread/message.ts";
import { approvalOf } from "../../thread/messages/approval.ts";
import { Unreadable } from "./content.ts";

/** An optional text. null counts as missing. */
export function textField(payload: JsonObject, field: string): string | undefined {
  const value = payload[field];
  if (value === undefined || value === null) return undefined;
  if (typeof value === "string") return value;
  throw new Unreadable(`${field} must be text`);
}

/** A call without an id gets the id "" here, and a made one when it is shown. */
export function callOf(value: unknown, path: string): ToolCall {
  if (!isPlainObject(value)) throw new Unreadable(`${path} must be a call`);
  const { id = "", name, arguments: args = {}, metadata, approval } = value as JsonObject; // payloads are JSON
  if (typeof id !== "string") throw new Unreadable(`${path}.id must be text`);
  if (typeof name !== "string") throw new Unreadable(`${path}.name must be text`);
  const call = { id, name, arguments: args, ...approvalOf(approval) };
  if (metadata === undefined) return call;
  if (!isPlainObject(metadata)) throw new Unreadable(`${path}.metadata must be an object`);
  return { ...call, metadata: metadata as PartMetadata }; // by provider; the provider formatters check the rest
}

export function callsOf(value: JsonValue | undefined): readonly ToolCall[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new Unreadable("toolCalls must be a list of calls");
  return value.map((call, index) => callOf(call, `toolCalls[${index}]`));
}

/** Puts thinking before the content. Each part names the model that can read it. */
export function withThinking(content: Content, thinking: JsonValue | undefined, model: string | undefined): Content {
  const parts = thinkingParts(thinking, modelName(model));
  if (parts.length === 0) return content;
  return [...parts, ...(typeof content === "string" ? textParts(content) : content)];
}

/** Splits `provider:model` or `provider/model`. */
export function modelName(model: string | undefined): { readonly provider?: string; readonly model?: string } {
  const [, provider, name] = /^([^:/]+)[:/](.+)$/s.exec(model ?? "") ?? [];
  return provider === undefined || name === undefined ? {} : { provider, model: name };
}

/** Names the model in each thinking part that does not name one itself. */
export function withMaker(content: Content, model: string | undefined): Content {
  const madeBy = modelName(model);
  if (typeof content === "string" || madeBy.model === undefined) return content;
  const isUnnamed = (part: Part): part is ThinkingPart =>
    part.type === "thinking" && (part.provider === undefined || part.model === undefined);
  return content.some(isUnnamed)
    ? content.map((part) => (isUnnamed(part) ? thinkingPart(part, madeBy) : part))
    : content;
}

function textParts(text: string): Content & object {
  return text === "" ? [] : [{ type: "text", text }];
}

type Maker = ReturnType<typeof modelName>;

function thinkingParts(thinking: JsonValue | undefined, madeBy: Maker): readonly ThinkingPart[] {
  if (thinking === undefined || thinking === null || thinking === "") return [];
  if (typeof thinking === "string") return [{ type: "thinking", text: thinking, ...madeBy }];
  return (Array.isArray(thinking) ? thinking : [thinking]).map((part) => thinkingPart(part, madeBy));
}

function thinkingPart(value: unknown, madeBy: Maker): ThinkingPart {
  if (!isPlainObject(value) || typeof value["text"] !== "string")
    throw new Unreadable("thinking must be text or parts");
  const { type: _type, text, ...rest } = value;
  return { type: "thinking", text, ...madeBy, ...rest } as ThinkingPart; // payloads are JSON, and text is text
}
