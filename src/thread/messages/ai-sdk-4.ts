import { isPlainObject, type JsonObject, type JsonValue } from "../json.ts";
import { Field } from "./field.ts";

// Converts UI messages of AI SDK 4, part by part, to the form of later versions.

const STATES: { readonly [state: string]: string } = {
  "partial-call": "input-streaming",
  call: "input-available",
  result: "output-available",
};

/** The part in the form of AI SDK 5 and later. A part in that form is returned unchanged. */
export function toCurrentParts(part: Field): readonly Field[] {
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
export function attachmentParts(message: Field): readonly Field[] {
  return message.at("experimental_attachments").list.map((file) => {
    const { name, contentType, url = null } = file.object;
    const names = {
      ...(name !== undefined && { filename: name }),
      ...(contentType !== undefined && { mediaType: contentType }),
    };
    return new Field({ type: "file", url, ...names }, file.path);
  });
}

/**
 * The body of a UI message: its parts. Early messages of AI SDK 4 have none: their text, reasoning and calls are fields of
 * the message.
 */
export function messageBody(message: Field): Field {
  const parts = message.at("parts");
  const content = message.at("content");
  const hasParts = Array.isArray(parts.value) ? parts.value.length > 0 || !content.value : parts.isPresent;
  if (hasParts) return parts;
  const { reasoning, toolInvocations, tool_calls, toolCalls } = message.object;
  const isForeign = tool_calls !== undefined || toolCalls !== undefined;
  const isText = typeof content.value === "string" || (!content.isPresent && toolInvocations !== undefined);
  if (isForeign || !isText) throw parts.error("must be a list of parts where content is not text");
  if (reasoning === undefined && toolInvocations === undefined) return content;
  return new Field(earlyParts(message), parts.path);
}

/** The parts of an early message of AI SDK 4, as its own functions order them: reasoning, the calls of each step, text. */
function earlyParts(message: Field): readonly JsonValue[] {
  const invocations = message.at("toolInvocations").list.map((one) => ({ one: one.object, path: one.path }));
  const reasoning = message.at("reasoning").optionalText ?? "";
  const text = message.at("content").optionalText ?? "";
  const steps = [...new Set(invocations.map(({ one }) => stepOf(one)))].sort((a, b) => a - b);
  const isWaiting = invocations.some(({ one }) => one["state"] !== "result");
  const neutral: readonly JsonValue[] = text === "" ? [] : [{ type: "text", text }];
  const calls = steps.flatMap((step, index): readonly JsonValue[] => [
    { type: "step-start" },
    // While a call has no result, the text was written before that call.
    ...(isWaiting && index === steps.length - 1 ? neutral : []),
    ...invocations.flatMap(({ one }) =>
      stepOf(one) === step ? [{ type: "tool-invocation", toolInvocation: one }] : [],
    ),
  ]);
  return [
    ...(reasoning === "" ? [] : [{ type: "reasoning", reasoning }]),
    ...calls,
    ...(isWaiting ? [] : [{ type: "step-start" }, ...neutral]),
  ];
}

function stepOf({ step }: JsonObject): number {
  return typeof step === "number" ? step : 0;
}

/** Whether the message is in the form of AI SDK 4, which later versions cannot show. */
export function isVersion4Message(message: unknown): boolean {
  if (!isObject(message)) return false;
  const { parts, experimental_attachments: attachments } = message;
  const isOld = ({ type, reasoning, mimeType }: JsonObject): boolean =>
    type === "tool-invocation" || type === "source" || reasoning !== undefined || mimeType !== undefined;
  const isEarly = !Array.isArray(parts) || (parts.length === 0 && Boolean(message["content"]));
  return isEarly || attachments !== undefined || (Array.isArray(parts) && parts.filter(isObject).some(isOld));
}

function isObject(value: unknown): value is JsonObject {
  return isPlainObject(value); // imported messages are JSON
}
