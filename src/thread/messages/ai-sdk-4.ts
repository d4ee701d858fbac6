import { isPlainObject, type JsonObject } from "../json.ts";
import { Field } from "./field.ts";

// Converts UI messages of AI SDK 4, part by part, to the form of later versions.

const STATES: { readonly [state: string]: string } = {
  "partial-call": "input-streaming",
  call: "input-available",
  result: "output-available",
};

/** The part in the form of AI SDK 5 and later. A part in that form is returned unchanged. */
export function currentParts(part: Field): readonly Field[] {
  const { type, reasoning, details, source, toolInvocation } = part.object;
  const made = (value: JsonObject): Field => new Field(value, part.path);
  if (type === "tool-invocation" && isPlainObject(toolInvocation)) {
    const { state, toolCallId = null, toolName, args = {}, result = null } = toolInvocation as JsonObject;
    const outcome = state === "result" ? { output: result } : {};
    return [
      made({
        type: `tool-${toolName}`,
        toolCallId,
        input: args,
        state: STATES[String(state)] ?? "input-available",
        ...outcome,
      }),
    ];
  }
  if (type === "reasoning" && typeof reasoning === "string") {
    const thoughts = Array.isArray(details) ? details.filter(isObject).map(thoughtOf) : [];
    return thoughts.length === 0 ? [made({ type, text: reasoning })] : thoughts.map(made);
  }
  if (type === "source" && isPlainObject(source)) {
    const { sourceType, id = null, providerMetadata, ...more } = source as JsonObject;
    const metadata = providerMetadata === undefined ? {} : { providerMetadata };
    return [made({ type: `source-${sourceType}`, sourceId: id, ...more, ...metadata })];
  }
  return [part];
}

function thoughtOf({ type, text = "", signature, data }: JsonObject): JsonObject {
  if (type === "redacted") return { type: "redacted_thinking", data: data ?? null };
  const signed = typeof signature === "string" && { providerMetadata: { anthropic: { signature } } };
  return { type: "reasoning", text, ...signed };
}

/** The attachments of a message, as file parts. */
export function attachmentsOf(message: Field): readonly Field[] {
  return message.at("experimental_attachments").list.map((file) => {
    const { name, contentType, url = null } = file.object;
    const names = {
      ...(name !== undefined && { filename: name }),
      ...(contentType !== undefined && { mediaType: contentType }),
    };
    return new Field({ type: "file", url, ...names }, file.path);
  });
}

/** Whether the message is in the form of AI SDK 4, which later versions cannot show. */
export function isOfVersion4(message: unknown): boolean {
  if (!isObject(message)) return false;
  const { parts, experimental_attachments: attachments } = message;
  const isOld = ({ type, reasoning, mimeType }: JsonObject): boolean =>
    type === "tool-invocation" || type === "source" || reasoning !== undefined || mimeType !== undefined;
  return attachments !== undefined || (Array.isArray(parts) && parts.filter(isObject).some(isOld));
}

function isObject(value: unknown): value is JsonObject {
  return isPlainObject(value); // imported messages are JSON
}
