import { isPlainObject, type JsonObject, type JsonValue } from "../json.ts";
import { currentParts } from "./ai-sdk-4.ts";
import { Field } from "./field.ts";

/** Tool outputs in messages of the AI SDK, by call id. A list, because an id may repeat. */
export function outputsIn(messages: readonly unknown[]): Map<string, JsonValue[]> {
  const outputs = new Map<string, JsonValue[]>();
  const parts = messages.flatMap((message) => {
    const { parts, content, toolInvocations } = (isPlainObject(message) ? message : {}) as JsonObject; // imported messages are JSON
    const early = listOf(toolInvocations).map((one) => ({ type: "tool-invocation", toolInvocation: one }));
    return [...(listOf(parts).length > 0 ? listOf(parts) : early), ...listOf(content)];
  });
  for (const given of parts) {
    const part = currentPart(given);
    if (!isPlainObject(part) || typeof part["toolCallId"] !== "string") continue;
    const output = outputOf(part as JsonObject);
    if (output === undefined) continue;
    const known = outputs.get(part["toolCallId"]) ?? [];
    outputs.set(part["toolCallId"], [...known, output]);
  }
  return outputs;
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : []; // Array.isArray forgets readonly lists
}

function currentPart(part: JsonValue): JsonValue {
  const isOld = isPlainObject(part) && part["type"] === "tool-invocation";
  return isOld ? (currentParts(new Field(part, "part"))[0]?.value ?? part) : part;
}

function outputOf({ type, state, output, result }: JsonObject): JsonValue | undefined {
  if (state !== undefined) return state === "output-available" ? output : undefined;
  if (type !== "tool-result") return undefined;
  if (!isPlainObject(output)) return result; // before version 5 of the AI SDK
  const { type: kind, value } = output as JsonObject;
  return kind === "json" || kind === "text" ? value : undefined;
}

/** Parses text that JSON.stringify wrote of an object or list. Other text, even other JSON, gives undefined. */
export function structureIn(text: string): JsonValue | undefined {
  if (!/^[[{]/.test(text)) return undefined;
  try {
    const value: JsonValue = JSON.parse(text);
    return JSON.stringify(value) === text ? value : undefined;
  } catch {
    return undefined;
  }
}
