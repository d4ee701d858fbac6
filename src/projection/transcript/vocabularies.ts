import { resultText } from "../../lanes/results.ts";
import type { JsonObject } from "../../thread/json.ts";
import type { Refs } from "../../thread/refs.ts";
import { contentOf, Unreadable } from "./content.ts";
import { callOf, callsOf, textField, withThinking } from "./fields.ts";
import type { ReadContext, Reader, Readers, Said } from "./reader.ts";

/** The role of the message is not a known one. */
export class UnknownRole extends Unreadable {}

/** Reads a `message` or `ai_message`. */
export function readMessage(payload: JsonObject, { refs }: Pick<ReadContext, "refs">): Said {
  const role = payload["role"];
  switch (role) {
    case "user":
      return { type: "user", content: contentOf(payload["content"]) };
    case "system":
      return { type: "system", content: textOf(payload) };
    case "assistant":
      return readAnswer(payload);
    case "tool":
      return readResult(payload, refs);
    default:
      throw new UnknownRole("role must be user, assistant, system or tool");
  }
}

function readAnswer(payload: JsonObject): Said {
  const { content = "", thinking, call, toolCalls: calls } = payload;
  const toolCalls = callsOf(calls);
  const model = typeof call === "object" && call !== null && "model" in call ? call["model"] : undefined;
  const said = withThinking(contentOf(content ?? ""), thinking, typeof model === "string" ? model : undefined);
  return { type: "assistant", content: said, ...(toolCalls.length > 0 && { toolCalls }) };
}

function readResult(payload: JsonObject, refs: Refs): Said {
  return {
    type: "tool_result",
    ...namesOf(payload, refs),
    content: contentOf(payload["content"]),
    isError: payload["isError"] === true,
  };
}

const message: Reader = { version: 1, read: readMessage };

const toolCall: Reader = {
  version: 1,
  read: (payload, { refs }) => {
    const call = callOf({ ...payload, arguments: payload["arguments"] ?? {} }, "payload");
    const id = call.id === "" && typeof refs["toolCallId"] === "string" ? refs["toolCallId"] : call.id;
    return { type: "assistant", content: "", toolCalls: [{ ...call, id }] };
  },
};

const toolResult = toolResultReader(false);

/** Reads results as projector heddle/1 did: fields beside those of an envelope are left out. */
export const FIRST_TOOL_RESULT = toolResultReader(true);

function toolResultReader(allowsMore: boolean): Reader {
  return {
    version: 1,
    read: (payload, { refs }) => {
      const { result } = payload;
      if (result === undefined) throw new Unreadable("result is missing");
      return { type: "tool_result", ...namesOf(payload, refs), ...resultText(result, { allowsMore }) };
    },
  };
}

/** The built-in readers. Summaries and context operations have none, because the lane handles them. */
export const READERS: Readers = Object.freeze({
  message,
  tool_call: toolCall,
  tool_result: toolResult,
  ai_message: message,
});

function namesOf(payload: JsonObject, refs: Refs): { readonly toolCallId?: string; readonly name?: string } {
  const toolCallId = textField(payload, "toolCallId") || refs["toolCallId"];
  const name = textField(payload, "name");
  return { ...(typeof toolCallId === "string" && { toolCallId }), ...(name !== undefined && { name }) };
}

function textOf({ content }: JsonObject): string {
  if (typeof content === "string") return content;
  const parts = contentOf(content);
  return typeof parts === "string"
    ? parts
    : parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}
