import {
  type FileContentPart,
  fileNote,
  groupAdjacent,
  type Part,
  type ProviderResultPart,
  type ToolCall,
  valueText,
} from "../message.ts";
import { writeApprovalRequest, writeApprovalResponse } from "./approval.ts";
import { fileUrl } from "./file-part.ts";
import type { MessageFormat } from "./formats.ts";
import { contentParts, joinedText, type MessageWithId, type NeutralMessage, orderedParts } from "./neutral-message.ts";

/** Writes messages in a format: text, files, thinking, calls and results. Other content is only in stored originals. */
export function writeMessages(format: MessageFormat, neutral: readonly MessageWithId[]): readonly object[] {
  if (format === "neutral") return neutral.map(({ id: _id, output: _output, ...message }) => message);
  if (format === "openai-chat") return neutral.map(writeChat);
  const isUi = format === "ui-messages";
  const ofResults = isUi ? "assistant" : format === "anthropic" ? "user" : "tool";
  const roleOf = ({ role }: NeutralMessage): string => (role === "tool" ? ofResults : role);
  // The results of one step are one message. In useChat all steps of an answer are one message.
  const isOne = (a: NeutralMessage, b: NeutralMessage): boolean =>
    roleOf(a) === roleOf(b) && (a.role === "tool" || b.role === "tool" || (isUi && a.role === "assistant"));
  const all = format === "model-messages" ? neutral.flatMap(withResponses) : neutral;
  return groupAdjacent(all, isOne).map((run) => {
    const parts = run.flatMap((one) => writeParts(format, one, run));
    const [first = { id: "", role: "user", content: "" } as const, ...others] = run;
    const { id, content, toolCalls } = first;
    const role = roleOf(first);
    if (isUi) return { id, role, parts };
    const isText = others.length === 0 && first.role !== "tool" && !toolCalls && typeof content === "string";
    return { role, content: isText ? content : parts };
  });
}

/** A neutral message, or the approval responses of one. */
type WritableMessage = MessageWithId & { readonly responses?: readonly object[] };

/** In model messages, the decision on a call is in a message of the role tool after the call. */
function withResponses(neutral: MessageWithId): readonly WritableMessage[] {
  const responses = (neutral.toolCalls ?? []).flatMap(writeApprovalResponse);
  return responses.length === 0 ? [neutral] : [neutral, { id: neutral.id, role: "tool", content: "", responses }];
}

function writeChat({ role, content, toolCallId, toolCalls }: NeutralMessage): object {
  const text = joinedText(content);
  if (role === "tool") return { role, tool_call_id: toolCallId, content: text };
  if (toolCalls === undefined) {
    const isText = role !== "user" || typeof content === "string";
    return { role, content: isText ? text : content.flatMap((part) => writePart("openai-chat", part)) };
  }
  const tool_calls = toolCalls.map(({ id, name, arguments: input }) => {
    return { id, type: "function", function: { name, arguments: valueText(input) } };
  });
  return { role, content: text || null, tool_calls };
}

// Undefined fields are removed later, when the messages are copied as JSON.

function writeParts(
  format: MessageFormat,
  neutral: WritableMessage,
  run: readonly WritableMessage[],
): readonly object[] {
  const { role, content, isError, toolCallId, name: toolName = "", metadata: providerOptions } = neutral;
  const isUi = format === "ui-messages";
  if (neutral.responses !== undefined) return neutral.responses;
  if (role !== "tool") {
    const parts = orderedParts(neutral).flatMap((piece) =>
      "type" in piece ? writePiece(format, piece, run) : writeCall(format, piece, run),
    );
    return isUi && role === "assistant" ? [{ type: "step-start" }, ...parts] : parts;
  }
  if (isUi) return []; // the result is in the part of its call
  const isText = typeof content === "string";
  const value = isText ? content : content.flatMap((part) => writePart(format, part));
  if (format === "anthropic") {
    return [{ type: "tool_result", tool_use_id: toolCallId, content: value, is_error: isError || undefined }];
  }
  return [{ type: "tool-result", toolCallId, toolName, output: outputOf(neutral, value), providerOptions }];
}

function outputOf({ content, isError, output }: NeutralMessage & MessageWithId, value: unknown): object {
  if (isError) return { type: "error-text", value: joinedText(content) };
  if (output !== undefined && typeof output !== "string") return { type: "json", value: output };
  return { type: typeof content === "string" ? "text" : "content", value };
}

function writeCall(format: MessageFormat, call: ToolCall, run: readonly WritableMessage[]): readonly object[] {
  const { id, name, arguments: input, metadata } = call;
  if (format === "anthropic") return [{ type: "tool_use", id, name, input }];
  if (format === "model-messages") {
    const part = { type: "tool-call", toolCallId: id, toolName: name, input, providerOptions: metadata };
    return [part, ...writeApprovalRequest(call)];
  }
  const result = run.find(({ toolCallId }) => toolCallId === id);
  const part = { type: `tool-${name}`, toolCallId: id, ...outcomeOf(call, result), callProviderMetadata: metadata };
  return [part];
}

/** The state of a call in useChat, with its fields. */
function outcomeOf({ approval, arguments: input }: ToolCall, result: WritableMessage | undefined): object {
  const approved = approval?.approved;
  if (result === undefined) {
    if (approval === undefined) return { state: "input-available", input };
    return { state: approved === undefined ? "approval-requested" : "approval-responded", input, approval };
  }
  const { content, isError, output } = result;
  if (isError && approved === false) return { state: "output-denied", input, approval };
  const decision = approved === true ? { approval } : {};
  if (isError) return { state: "output-error", input, errorText: joinedText(content), ...decision };
  const parts = contentParts(content);
  const isText = parts.every(({ type }) => type === "text");
  const shown = isText ? joinedText(content) : parts.flatMap((part) => writePart("ui-messages", part));
  return { state: "output-available", input, output: output === undefined ? shown : output, ...decision };
}

/** A part in its place. Formats of the AI SDK include calls that a provider ran. */
function writePiece(format: MessageFormat, part: Part, run: readonly WritableMessage[]): readonly object[] {
  const isUi = format === "ui-messages";
  if (!isUi && format !== "model-messages") return writePart(format, part);
  switch (part.type) {
    case "provider_call": {
      const { id: toolCallId, name, arguments: input, metadata } = part;
      if (!isUi) {
        const call = { type: "tool-call", toolCallId, toolName: name, input, providerExecuted: true };
        return [{ ...call, providerOptions: metadata }];
      }
      const results = run.flatMap(({ content }) => contentParts(content)).filter(isProviderResult);
      const { result, isError } = results.find(({ id }) => id === toolCallId) ?? {};
      const state = result === undefined ? "input-available" : isError ? "output-error" : "output-available";
      const outcome = result !== undefined && (isError ? { errorText: valueText(result) } : { output: result });
      const call = { type: `tool-${name}`, toolCallId, state, input, ...outcome, providerExecuted: true };
      return [{ ...call, callProviderMetadata: metadata }];
    }
    case "provider_result": {
      const { id: toolCallId, name: toolName, result: value, isError, metadata: providerOptions } = part;
      const output = { type: isError ? "error-json" : "json", value };
      return isUi ? [] : [{ type: "tool-result", toolCallId, toolName, output, providerOptions }];
    }
    case "custom": {
      const { type, kind, metadata } = part;
      return [{ type, kind, ...(isUi ? { providerMetadata: metadata } : { providerOptions: metadata }) }];
    }
    case "source": {
      const { type: _type, sourceType, id: sourceId, metadata: providerMetadata, ...source } = part;
      return isUi ? [{ type: `source-${sourceType}`, sourceId, ...source, providerMetadata }] : [];
    }
    default:
      return writePart(format, part);
  }
}

function isProviderResult(part: Part): part is ProviderResultPart {
  return part.type === "provider_result";
}

function writePart(format: MessageFormat, part: Part): readonly object[] {
  const { type, metadata } = part;
  const { signature, redactedData: data } = metadata?.["anthropic"] ?? {};
  const more =
    format === "ui-messages"
      ? { providerMetadata: metadata }
      : format === "model-messages" && { providerOptions: metadata };
  if (type === "text") return [{ type, text: part.text, ...more }];
  if (type === "file") return [{ ...writeFile(format, part), ...more }];
  if (type !== "thinking") return [];
  if (more) return [{ type: "reasoning", text: part.text, ...more }];
  if (format !== "anthropic" || (data ?? signature) === undefined) return [];
  return [data === undefined ? { type, thinking: part.text, signature } : { type: "redacted_thinking", data }];
}

function writeFile(format: MessageFormat, part: FileContentPart): object {
  const { data, mediaType, filename } = part;
  const url = fileUrl(part);
  const base64 = "base64" in data ? data.base64 : undefined;
  const type = mediaType.startsWith("image") ? "image" : mediaType === "application/pdf" ? "document" : undefined;
  if ("blob" in data) return { type: "text", text: fileNote(part) };
  if (format === "ui-messages") return { type: "file", mediaType, filename, url };
  if (format === "model-messages") return { type: "file", mediaType, filename, data: base64 ?? url };
  if (type !== undefined && format === "anthropic") {
    return { type, source: base64 ? { type: "base64", media_type: mediaType, data: base64 } : { type: "url", url } };
  }
  if (type === "image") return { type: "image_url", image_url: { url } };
  if (type && base64) return { type: "file", file: { filename, file_data: url } };
  return { type: "text", text: fileNote(part) };
}
