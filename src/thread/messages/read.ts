import { isPlainObject, type JsonValue } from "../json.ts";
import type { Content, Part, PartMetadata, ToolCall } from "../message.ts";
import { valueText } from "../message.ts";
import { attachmentParts, toCurrentParts } from "./ai-sdk-4.ts";
import { type ApprovalDecisions, readApproval, requestedApproval } from "./approval.ts";
import { Field } from "./field.ts";
import { readFilePart } from "./file-part.ts";
import {
  assistantMessage,
  contentParts,
  joinedText,
  type NeutralMessage,
  readMetadata,
  toContent,
} from "./neutral-message.ts";

// One reader for the formats of OpenAI, Anthropic and the AI SDK. The fields of a message or part show which it is.

/** Facts from other messages of the list. */
export interface ListFacts {
  /** Tool names by call id. In two of the formats, results do not name their tool. */
  readonly names: Map<string, string>;
  readonly decisions: ApprovalDecisions;
}

export function readMessage(message: Field, said: Field, known: ListFacts): readonly NeutralMessage[] {
  const body = withOptions(message, said);
  const role = message.at("role");
  switch (role.text) {
    case "system":
    case "developer":
      return [{ role: "system", content: joinedText(readContent(saying(body))) }];
    case "user": {
      const results = listOf(body).filter(({ type }) => type === "tool_result");
      const content = withAttachments(readContent(saying(body)), message);
      const neutral = results.map((result) => resultOf(result.at("tool_use_id"), result, known));
      return content === "" && neutral.length > 0 ? neutral : [...neutral, { role: "user", content }];
    }
    case "assistant":
      return readAnswer(message, body, known);
    case "tool":
      if (!message.at("tool_call_id").isPresent && typeof body.value === "object") return body.list.flatMap(readResult);
      return [resultOf(message.at("tool_call_id"), message, known)];
    case "function": // the older OpenAI form, which has a name and no id
      return [resultOf(message.at("name"), message, known)];
    default:
      throw role.notOneOf(ROLES);
  }
}

/** Providers read the options of a message, such as cache marks, as those of its last part. */
function withOptions({ object: { providerOptions: given } }: Field, body: Field): Field {
  const { value } = body;
  const parts = typeof value === "string" && value !== "" ? [{ type: "text", text: value }] : value;
  const last: unknown = Array.isArray(parts) ? parts.at(-1) : undefined;
  if (!isPlainObject(given) || !Array.isArray(parts) || !isPlainObject(last)) return body;
  const own = isPlainObject(last["providerOptions"]) ? last["providerOptions"] : {};
  const merged = Object.entries(given).map(([name, options]) => [name, { ...Object(options), ...Object(own[name]) }]);
  const providerOptions = { ...own, ...Object.fromEntries(merged) };
  return new Field([...parts.slice(0, -1), { ...last, providerOptions }] as JsonValue, body.path); // of a JSON message
}

/** Adds the attachments of AI SDK 4, which are beside the parts of a message. */
function withAttachments(content: Content, message: Field): Content {
  const files = attachmentParts(message).flatMap((file) => readPart(file) ?? []);
  return files.length === 0 ? content : [...contentParts(content), ...files];
}

const ROLES = ["system", "developer", "user", "assistant", "tool", "function"];

/** Requires a body. Only an assistant message may have none. A missing body means that the format is wrong. */
function saying(body: Field): Field {
  if (body.isPresent) return body;
  throw body.error("must be text or a list of parts");
}

function listOf(body: Field): readonly Field[] {
  return typeof body.value === "string" ? [] : body.list;
}

function resultOf(id: Field, of: Field, known: ListFacts): NeutralMessage {
  const isError = of.at("is_error").value === true;
  const name = known.names.get(id.text);
  const content = readContent(of.at("content"));
  return toolMessage({ id: id.text, ...(name !== undefined && { name }) }, { content, isError });
}

function readResult(part: Field): readonly NeutralMessage[] {
  if (part.type !== "tool-result") return []; // a response to an approval request
  return [{ ...toolMessage(namesIn(part), readOutput(part)), ...readMetadata(part.object["providerOptions"]) }];
}

function toolMessage(
  { id, ...name }: { id: string; name?: string },
  { content, isError }: Omit<PartOutput, "value">,
): NeutralMessage {
  return { role: "tool", toolCallId: id, ...name, content, ...(isError && { isError }) };
}

function namesIn(part: Field): { readonly id: string; readonly name: string } {
  return { id: part.at("toolCallId").text, name: part.at("toolName").text };
}

/** The output of a model between two results. */
interface Step {
  readonly parts: Part[];
  readonly calls: ToolCall[];
  readonly results: NeutralMessage[];
}

/** Reads an assistant message. In useChat it may hold many steps, in the other formats only one. */
function readAnswer(message: Field, body: Field, known: ListFacts): readonly NeutralMessage[] {
  const all: NeutralMessage[] = [];
  let step: Step = { parts: [], calls: [], results: [] };
  const endStep = (): void => {
    if (step.parts.length > 0) all.push(assistantMessage(step.parts, step.calls), ...step.results);
    step = { parts: [], calls: [], results: [] };
  };
  if (typeof body.value === "string") step.parts.push(...contentParts(body.value));
  for (const part of listOf(body).flatMap(toCurrentParts)) {
    const { type } = part;
    if (type === "step-start" || type === "steering-message") endStep();
    if (type === "steering-message") all.push({ role: "user", content: readContent(part.at("parts")) });
    else readInto(step, part, known.decisions);
  }
  const { refusal, function_call: old } = message.object;
  if (step.parts.length === 0 && typeof refusal === "string") step.parts.push(...contentParts(refusal));
  const calls = message.at("tool_calls").list.map((call) => readCall(call.at("id"), call));
  if (isPlainObject(old)) calls.push(readCall(message.at("function_call").at("name"), message));
  for (const call of calls) place(step, call);
  for (const { id, name } of step.calls) known.names.set(id, name);
  endStep();
  return all;
}

function place({ parts, calls }: Step, call: ToolCall): void {
  calls.push(call);
  parts.push({ type: "tool_call", id: call.id });
}

/** Reads a call of OpenAI. Its arguments are text, usually JSON. */
function readCall(id: Field, of: Field): ToolCall {
  const [called = of] = ["custom", "function", "function_call"]
    .map((key) => of.at(key))
    .filter(({ isPresent }) => isPresent);
  const input = called.at("input");
  return {
    id: id.text,
    name: called.at("name").text,
    arguments: input.isPresent ? input.text : parsed(called.at("arguments").text),
  };
}

function parsed(text: string): JsonValue {
  try {
    const value: JsonValue = JSON.parse(text);
    return isPlainObject(value) ? value : text;
  } catch {
    return text; // a model may write invalid JSON
  }
}

function readInto(step: Step, part: Field, decisions: ApprovalDecisions): void {
  const { type } = part;
  const { value: input = part.at("args").value ?? part.at("rawInput").value ?? {} } = part.at("input");
  if (type === "tool_use") {
    place(step, { id: part.at("id").text, name: part.at("name").text, arguments: input });
  } else if (type === "tool-result") {
    const { value: result, isError } = readOutput(part);
    const more = { ...(isError && { isError }), ...readMetadata(part.object["providerOptions"]) };
    step.parts.push({ type: "provider_result", ...namesIn(part), result, ...more });
  } else if (type === "tool-approval-request") {
    const at = step.calls.findLastIndex(({ id }) => id === part.at("toolCallId").text);
    const call = step.calls[at];
    if (call !== undefined) step.calls[at] = { ...call, approval: requestedApproval(part, decisions) };
  } else if (
    type === "tool-call" ||
    ((type.endsWith("-tool") || type.startsWith("tool-")) && part.at("state").isPresent)
  ) {
    readTool(step, part, input);
  } else {
    const read = readPart(part);
    if (read !== undefined) step.parts.push(read);
  }
}

/** Reads a call of the AI SDK. In messages of useChat it includes its result. */
function readTool(step: Step, part: Field, input: JsonValue): void {
  const {
    providerOptions,
    callProviderMetadata = providerOptions,
    resultProviderMetadata = callProviderMetadata,
  } = part.object;
  if (part.at("state").value === "input-streaming") return; // an incomplete call is skipped
  const ofTool = part.at("toolName").optionalText ?? part.type.slice("tool-".length);
  const names = { id: part.at("toolCallId").text, name: ofTool };
  const call = { ...names, arguments: input, ...readMetadata(callProviderMetadata) };
  const isOurs = part.at("providerExecuted").value !== true;
  if (isOurs) place(step, { ...call, ...readApproval(part.object["approval"]) });
  else step.parts.push({ type: "provider_call", ...call });
  const output = readOutcome(part);
  if (output === undefined) return;
  const { value: result, isError } = output;
  const metadata = readMetadata(resultProviderMetadata);
  if (isOurs) step.results.push({ ...toolMessage(names, output), ...metadata });
  else step.parts.push({ type: "provider_result", ...names, result, ...(isError && { isError }), ...metadata });
}

function readOutcome(part: Field): PartOutput | undefined {
  const approval = part.at("approval");
  switch (part.at("state").value) {
    case "output-available":
      return toOutput(part.at("output"), false);
    case "output-error":
      return toOutput({ value: part.at("errorText").text }, true);
    default:
      return approval.isPresent && approval.at("approved").value === false
        ? deniedOutput(approval.at("reason"))
        : undefined;
  }
}

/** Reads a part of any format. Undefined for an unknown type, which is kept in the original and never shown to a model. */
export function readPart(part: Field): Part | undefined {
  const { type } = part;
  switch (type) {
    case "text":
    case "refusal":
      return { type: "text", text: part.at(type).text, ...metadataIn(part) };
    case "reasoning":
      return { type: "thinking", text: part.at("text").text, ...metadataIn(part) };
    case "thinking":
      return { type, text: part.at("thinking").text, ...ofClaude("signature", part.at("signature")) };
    case "redacted_thinking":
      return { type: "thinking", text: "", ...ofClaude("redactedData", part.at("data")) };
    case "custom":
      return { type, kind: part.at("kind").text, ...metadataIn(part) };
    case "source-url":
    case "source-document": {
      const { sourceId, providerMetadata: _metadata, ...source } = part.object;
      return { ...source, type: "source", sourceType: type.slice("source-".length), id: sourceId, ...metadataIn(part) };
    }
    default: {
      if (!/^(file|image|document|input_audio|media)/.test(type)) return undefined;
      const file = readFilePart(part);
      return file && { ...file, ...metadataIn(part) };
    }
  }
}

function readContent(field: Field): Content {
  return typeof field.value === "string" ? field.value : toContent(field.list.flatMap((part) => readPart(part) ?? []));
}

function ofClaude(name: string, { value }: Field): { readonly metadata?: PartMetadata } {
  return readMetadata({ anthropic: { [name]: value } });
}

function metadataIn(part: Field): { readonly metadata?: PartMetadata } {
  const { providerOptions, providerMetadata = providerOptions } = part.object;
  if (part.type !== "image_url") return readMetadata(providerMetadata);
  const imageDetail = part.at("image_url").at("detail").optionalText;
  return imageDetail === undefined ? {} : readMetadata({ openai: { imageDetail } });
}

/** The output of a tool: `content` for the model, `value` for a provider that ran the tool itself. */
interface PartOutput {
  readonly content: Content;
  readonly value: JsonValue;
  readonly isError: boolean;
}

function toOutput({ value = null }: Pick<Field, "value">, isError: boolean): PartOutput {
  const content = isError && typeof value !== "string" ? JSON.stringify({ error: value }) : valueText(value);
  return { content, value, isError };
}

/** The default text is the one of the AI SDK. */
function deniedOutput(reason: Field): PartOutput {
  return toOutput({ value: reason.optionalText ?? "Tool call execution denied." }, true);
}

/** The output of a `tool-result`. Before version 5 of the AI SDK it is a bare result. */
function readOutput(part: Field): PartOutput {
  const output = part.at("output");
  if (!output.isPresent) return toOutput(part.at("result"), part.at("isError").value === true);
  const value = output.at("value");
  if (output.type === "execution-denied") return deniedOutput(output.at("reason"));
  if (output.type === "content") return { ...toOutput(value, false), content: readContent(value) };
  return toOutput(value, output.type.startsWith("error"));
}
