import { isPlainObject, type JsonValue } from "../json.ts";
import type { Content, Part, ToolCall } from "../message.ts";
import { attachmentsOf, currentParts } from "./ai-sdk-4.ts";
import { approvalOf, type Decisions, requestedApproval } from "./approval.ts";
import type { Field } from "./field.ts";
import { denied, type Output, outputOf, readContent, readOutput, readPart } from "./parts.ts";
import { answer, metadataOf, partsOf, type Said, textIn } from "./said.ts";

// One reader for the formats of OpenAI, Anthropic and the AI SDK. The fields of a message or part show which it is.

/** Facts from other messages of the list. */
export interface Known {
  /** Tool names by call id. In two of the formats, results do not name their tool. */
  readonly names: Map<string, string>;
  readonly decisions: Decisions;
}

export function readMessage(message: Field, body: Field, known: Known): readonly Said[] {
  const role = message.at("role");
  switch (role.text) {
    case "system":
    case "developer":
      return [{ role: "system", content: textIn(readContent(saying(body))) }];
    case "user": {
      const results = listOf(body).filter(({ type }) => type === "tool_result");
      const content = withAttachments(readContent(saying(body)), message);
      const said = results.map((result) => resultOf(result.at("tool_use_id"), result, known));
      return content === "" && said.length > 0 ? said : [...said, { role: "user", content }];
    }
    case "assistant":
      return readAnswer(message, body, known);
    case "tool":
      if (!message.at("tool_call_id").given && typeof body.value === "object") return body.list.flatMap(readResult);
      return [resultOf(message.at("tool_call_id"), message, known)];
    case "function": // the older OpenAI form, which has a name and no id
      return [resultOf(message.at("name"), message, known)];
    default:
      throw role.notOneOf(ROLES);
  }
}

/** Adds the attachments of AI SDK 4, which are beside the parts of a message. */
function withAttachments(content: Content, message: Field): Content {
  const files = attachmentsOf(message).flatMap((file) => readPart(file) ?? []);
  return files.length === 0 ? content : [...partsOf(content), ...files];
}

const ROLES = ["system", "developer", "user", "assistant", "tool", "function"];

/** Requires a body. Only an assistant message may have none. A missing body means that the format is wrong. */
function saying(body: Field): Field {
  if (body.given) return body;
  throw body.refused("must be text or a list of parts");
}

function listOf(body: Field): readonly Field[] {
  return typeof body.value === "string" ? [] : body.list;
}

function resultOf(id: Field, of: Field, known: Known): Said {
  const isError = of.at("is_error").value === true;
  const name = known.names.get(id.text);
  const content = readContent(of.at("content"));
  return said({ id: id.text, ...(name !== undefined && { name }) }, { content, isError });
}

function readResult(part: Field): readonly Said[] {
  if (part.type !== "tool-result") return []; // a response to an approval request
  return [{ ...said(namesIn(part), readOutput(part)), ...metadataOf(part.object["providerOptions"]) }];
}

function said({ id, ...name }: { id: string; name?: string }, { content, isError }: Omit<Output, "value">): Said {
  return { role: "tool", toolCallId: id, ...name, content, ...(isError && { isError }) };
}

function namesIn(part: Field): { readonly id: string; readonly name: string } {
  return { id: part.at("toolCallId").text, name: part.at("toolName").text };
}

/** The output of a model between two results. */
interface Step {
  readonly parts: Part[];
  readonly calls: ToolCall[];
  readonly results: Said[];
}

/** Reads an assistant message. In useChat it may hold many steps, in the other formats only one. */
function readAnswer(message: Field, body: Field, known: Known): readonly Said[] {
  const all: Said[] = [];
  let step: Step = { parts: [], calls: [], results: [] };
  const endStep = (): void => {
    if (step.parts.length > 0) all.push(answer(step.parts, step.calls), ...step.results);
    step = { parts: [], calls: [], results: [] };
  };
  if (typeof body.value === "string") step.parts.push(...partsOf(body.value));
  for (const part of listOf(body).flatMap(currentParts)) {
    const { type } = part;
    if (type === "step-start" || type === "steering-message") endStep();
    if (type === "steering-message") all.push({ role: "user", content: readContent(part.at("parts")) });
    else readInto(step, part, known.decisions);
  }
  const { refusal, function_call: old } = message.object;
  if (step.parts.length === 0 && typeof refusal === "string") step.parts.push(...partsOf(refusal));
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
  const [called = of] = ["custom", "function", "function_call"].map((key) => of.at(key)).filter(({ given }) => given);
  const input = called.at("input");
  return {
    id: id.text,
    name: called.at("name").text,
    arguments: input.given ? input.text : parsed(called.at("arguments").text),
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

function readInto(step: Step, part: Field, decisions: Decisions): void {
  const { type } = part;
  const { value: input = part.at("args").value ?? part.at("rawInput").value ?? {} } = part.at("input");
  if (type === "tool_use") {
    place(step, { id: part.at("id").text, name: part.at("name").text, arguments: input });
  } else if (type === "tool-result") {
    const { value: result, isError } = readOutput(part);
    const more = { ...(isError && { isError }), ...metadataOf(part.object["providerOptions"]) };
    step.parts.push({ type: "provider_result", ...namesIn(part), result, ...more });
  } else if (type === "tool-approval-request") {
    const at = step.calls.findLastIndex(({ id }) => id === part.at("toolCallId").text);
    const call = step.calls[at];
    if (call !== undefined) step.calls[at] = { ...call, approval: requestedApproval(part, decisions) };
  } else if (type === "tool-call" || ((type.endsWith("-tool") || type.startsWith("tool-")) && part.at("state").given)) {
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
  const call = { ...names, arguments: input, ...metadataOf(callProviderMetadata) };
  const isOurs = part.at("providerExecuted").value !== true;
  if (isOurs) place(step, { ...call, ...approvalOf(part.object["approval"]) });
  else step.parts.push({ type: "provider_call", ...call });
  const output = readOutcome(part);
  if (output === undefined) return;
  const { value: result, isError } = output;
  const metadata = metadataOf(resultProviderMetadata);
  if (isOurs) step.results.push({ ...said(names, output), ...metadata });
  else step.parts.push({ type: "provider_result", ...names, result, ...(isError && { isError }), ...metadata });
}

function readOutcome(part: Field): Output | undefined {
  const approval = part.at("approval");
  switch (part.at("state").value) {
    case "output-available":
      return outputOf(part.at("output"), false);
    case "output-error":
      return outputOf({ value: part.at("errorText").text }, true);
    default:
      return approval.given && approval.at("approved").value === false ? denied(approval.at("reason")) : undefined;
  }
}
