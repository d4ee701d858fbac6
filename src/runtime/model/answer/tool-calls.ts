import { type JsonValue, sameJson } from "../../../thread/json.ts";
import type { ToolCall } from "../../../thread/message.ts";
import { plainJson, plainText } from "../plain-json.ts";
import type { RawPart } from "../raw-part.ts";
import { metadataIn, withMetadata } from "./metadata.ts";

/** A call as the model made it; its id may be missing, or be another call's as well. */
export function callIn(part: RawPart): ToolCall {
  return {
    id: plainText(part["toolCallId"]),
    name: plainText(part["toolName"]),
    arguments: argumentsIn(part["input"]),
    ...withMetadata(metadataIn(part)),
  };
}

/**
 * Packages give arguments as JSON text. Text that is no JSON, or JSON that no entry can hold as it is, stays text: no
 * tool takes a text for its arguments, so whoever runs it can say that they are bad.
 */
export function argumentsIn(input: unknown): JsonValue {
  if (typeof input !== "string") return plainJson(input) ?? {};
  if (input.trim() === "") return {}; // how some servers write a call without arguments
  const value = parsed(input);
  if (value === undefined) return input.toWellFormed();
  const plain = plainJson(value);
  if (plain !== undefined && sameJson(plain, parsed(input, wellFormed))) return plain;
  return input.slice(0, UNHOLDABLE).toWellFormed();
}

/** Of JSON that no entry can hold, so much is kept: what is nested too deep would break whoever parses it again. */
const UNHOLDABLE = 2_000;

function parsed(text: string, reviver?: (key: string, value: JsonValue) => JsonValue): JsonValue | undefined {
  try {
    return JSON.parse(text, reviver);
  } catch {
    return undefined;
  }
}

/** Models cut emojis also where they write them as \uD83D. */
function wellFormed(_key: string, value: JsonValue): JsonValue {
  return typeof value === "string" ? value.toWellFormed() : value;
}

/** Every call gets an id of its own; those that have one keep it. The same answer always gets the same ids. */
export function withUniqueIds(calls: readonly ToolCall[]): readonly ToolCall[] {
  const given = new Set(calls.map(({ id }) => id));
  const taken = new Set<string>();
  const numbers = new Map<string, number>(); // the next of each base: what was tried once is not tried again
  const fresh = (base: string): string => {
    let id = base;
    let number = numbers.get(base) ?? 2;
    for (; given.has(id) || taken.has(id); number++) id = `${base}_${number}`;
    numbers.set(base, number);
    return id;
  };
  return calls.map((call, index) => {
    const id = call.id !== "" && !taken.has(call.id) ? call.id : fresh(call.id || `call_${index + 1}`);
    taken.add(id);
    return id === call.id ? call : { ...call, id };
  });
}
