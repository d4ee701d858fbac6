import { noteOf } from "../file-note.ts";
import type { FilePart, Part, ToolCall } from "../message.ts";
import { textOf } from "../results.ts";
import { runs } from "../runs.ts";
import { urlOf } from "./files.ts";
import type { MessageFormat } from "./formats.ts";
import { inOrder, type Said, type Spoken, textIn } from "./said.ts";

/** Messages of the format, for text, files, thinking, calls and results; what else was taken in comes back as it came. */
export function write(format: MessageFormat, said: readonly Spoken[]): readonly object[] {
  if (format === "neutral") return said.map(({ id: _id, ...message }) => message);
  if (format === "openai-chat") return said.map(writeChat);
  const isUi = format === "ui-messages";
  const ofResults = isUi ? "assistant" : format === "anthropic" ? "user" : "tool";
  const roleOf = ({ role }: Said): string => (role === "tool" ? ofResults : role);
  // Results of one step are one message, and in useChat all steps are.
  const isOne = (a: Said, b: Said): boolean =>
    roleOf(a) === roleOf(b) && (a.role === "tool" || b.role === "tool" || (isUi && a.role === "assistant"));
  return runs(said, isOne).map((run) => {
    const parts = run.flatMap((one) => writeParts(format, one, run));
    const [first = { id: "", role: "user", content: "" } as const, ...others] = run;
    const { id, content, toolCalls } = first;
    const role = roleOf(first);
    if (isUi) return { id, role, parts };
    const isText = others.length === 0 && first.role !== "tool" && !toolCalls && typeof content === "string";
    return { role, content: isText ? content : parts };
  });
}

function writeChat({ role, content, toolCallId, toolCalls }: Said): object {
  const text = textIn(content);
  if (role === "tool") return { role, tool_call_id: toolCallId, content: text };
  if (toolCalls === undefined) {
    const isText = role !== "user" || typeof content === "string";
    return { role, content: isText ? text : content.flatMap((part) => writePart("openai-chat", part)) };
  }
  const tool_calls = toolCalls.map(({ id, name, arguments: input }) => {
    return { id, type: "function", function: { name, arguments: textOf(input) } };
  });
  return { role, content: text || null, tool_calls };
}

// Fields that are undefined are left out when a message is made of what stands here.

function writeParts(format: MessageFormat, said: Said, run: readonly Said[]): readonly object[] {
  const { role, content, isError, toolCallId, name: toolName = "", metadata: providerOptions } = said;
  const isUi = format === "ui-messages";
  if (role !== "tool") {
    const parts = inOrder(said).flatMap((piece) =>
      "type" in piece ? writePart(format, piece) : [writeCall(format, piece, run)],
    );
    return isUi && role === "assistant" ? [{ type: "step-start" }, ...parts] : parts;
  }
  if (isUi) return []; // it stands in its call
  const isText = typeof content === "string";
  const value = isText ? content : content.flatMap((part) => writePart(format, part));
  if (format === "anthropic") {
    return [{ type: "tool_result", tool_use_id: toolCallId, content: value, is_error: isError || undefined }];
  }
  const output = isError
    ? { type: "error-text", value: textIn(content) }
    : { type: isText ? "text" : "content", value };
  return [{ type: "tool-result", toolCallId, toolName, output, providerOptions }];
}

function writeCall(format: MessageFormat, call: ToolCall, run: readonly Said[]): object {
  const { id, name, arguments: input, metadata } = call;
  if (format === "anthropic") return { type: "tool_use", id, name, input };
  if (format === "model-messages") {
    return { type: "tool-call", toolCallId: id, toolName: name, input, providerOptions: metadata };
  }
  const { content = "", isError, role } = run.find(({ toolCallId }) => toolCallId === id) ?? {};
  const text = textIn(content);
  const state = role === undefined ? "input-available" : isError ? "output-error" : "output-available";
  const outcome = role && (isError ? { errorText: text } : { output: text });
  return { type: `tool-${name}`, toolCallId: id, state, input, ...outcome, callProviderMetadata: metadata };
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

function writeFile(format: MessageFormat, part: FilePart): object {
  const { data, mediaType, filename } = part;
  const url = urlOf(part);
  const base64 = "base64" in data ? data.base64 : undefined;
  const type = mediaType.startsWith("image") ? "image" : mediaType === "application/pdf" ? "document" : undefined;
  if ("blob" in data) return { type: "text", text: noteOf(part) };
  if (format === "ui-messages") return { type: "file", mediaType, filename, url };
  if (format === "model-messages") return { type: "file", mediaType, filename, data: base64 ?? url };
  if (type !== undefined && format === "anthropic") {
    return { type, source: base64 ? { type: "base64", media_type: mediaType, data: base64 } : { type: "url", url } };
  }
  if (type === "image") return { type: "image_url", image_url: { url } };
  if (type && base64) return { type: "file", file: { filename, file_data: url } };
  return { type: "text", text: noteOf(part) };
}
