import type { Part, ToolCall } from "../message.ts";
import { approvalOf } from "./approval.ts";
import type { Field } from "./field.ts";
import { metadataOf, type Said } from "./said.ts";

const ROLES = ["system", "user", "assistant", "tool"];

/** Reads a message in the form that `project` returns. */
export function readNeutral(message: Field): Said {
  const role = message.at("role");
  const content = message.at("content");
  const toolCalls = message.at("toolCalls").list.map(readCall);
  const { value: isError } = message.at("isError");
  const name = message.at("name").optionalText;
  if (!ROLES.includes(role.text)) throw role.notOneOf(ROLES);
  return {
    role: role.text as Said["role"],
    content:
      role.text === "system" || typeof content.value === "string" ? content.text : content.list.flatMap(readPart),
    ...(toolCalls.length > 0 && { toolCalls }),
    ...(role.text === "tool" && { toolCallId: message.at("toolCallId").text }),
    ...(name !== undefined && { name }),
    ...(typeof isError === "boolean" && { isError }),
    ...metadataOf(message.object["metadata"]),
  };
}

function readCall(call: Field): ToolCall {
  const { arguments: input = {}, metadata, approval } = call.object;
  const names = { id: call.at("id").text, name: call.at("name").text };
  return { ...names, arguments: input, ...metadataOf(metadata), ...approvalOf(approval) };
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
  if (part.at("metadata").given) part.at("metadata").object;
  if (part.type === "file") {
    const { url, base64 = url, blob = base64 } = part.at("data").object;
    if (typeof blob !== "string") throw part.at("data").refused("must hold url, base64 or blob");
  }
  return [part.value as Part]; // checked above
}
