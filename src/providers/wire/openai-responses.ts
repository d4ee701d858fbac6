import type { JsonObject } from "../../thread/json.ts";
import {
  type AssistantMessage,
  type Content,
  type FileContentPart,
  fileNote,
  type Message,
  type TextContentPart,
  type ThinkingPart,
  type ToolMessage,
  type ToolSpec,
} from "../../thread/message.ts";
import {
  type AssistantPart,
  argumentsObject,
  assistantParts,
  familyOf,
  functionTools,
  type ImageDetail,
  messagesFor,
  partsOf,
  sourceOf,
  textField,
  toolOutputOf,
  urlOf,
} from "../message-parts.ts";
import { readableParts } from "../thinking.ts";

type Assistant = {
  readonly role: "assistant";
  readonly content: string;
  readonly phase?: "commentary" | "final_answer";
};

type Reasoning = {
  readonly type: "reasoning";
  readonly id: string;
  readonly encrypted_content: string;
  readonly summary: { readonly type: "summary_text"; readonly text: string }[];
};

type Image = { readonly type: "input_image"; readonly image_url: string; readonly detail: ImageDetail };

/**
 * One item of the input of a Responses request. The types of OpenAI's SDK require the `id` of reasoning and the `detail` of
 * an image. The API does not, so they are left out where they are not known.
 */
export type OpenAIResponsesItem =
  | { readonly role: "system"; readonly content: string }
  | { readonly role: "user"; readonly content: OpenAIResponsesPart[] }
  | Assistant
  | Reasoning
  | { readonly type: "function_call"; readonly call_id: string; readonly name: string; readonly arguments: string }
  | {
      readonly type: "function_call_output";
      readonly call_id: string;
      readonly output: string | OpenAIResponsesPart[];
    };

/** The fields of a Responses request that `toOpenAIResponses` makes. */
export interface OpenAIResponsesBody {
  readonly input: OpenAIResponsesItem[];
  readonly tools?: {
    readonly type: "function";
    readonly name: string;
    readonly description?: string;
    readonly parameters: JsonObject;
    readonly strict: false;
  }[];
  readonly store: false;
}

/**
 * Makes the fields `input`, `tools` and `store` of a Responses request. Items stored at OpenAI are not referenced,
 * because references break when a list is trimmed. Set `include: ["reasoning.encrypted_content"]` to get reasoning that
 * can be sent back.
 * @example
 * const { input } = toOpenAIResponses([{ role: "system", content: "Be brief." }, { role: "user", content: "Hi" }]);
 * console.log(input.length); // 2
 */
export function toOpenAIResponses(messages: readonly Message[], tools: readonly ToolSpec[] = []): OpenAIResponsesBody {
  const input = messagesFor("openai-responses", messages).flatMap(itemsOf);
  const own = functionTools(tools);
  return { input, ...(own.length === 0 ? {} : { tools: own.map(toolOf) }), store: false };
}

function itemsOf(message: Message): readonly OpenAIResponsesItem[] {
  switch (message.role) {
    case "system":
      return [{ role: "system", content: message.content }];
    case "user":
      return [{ role: "user", content: userContent(message.content) }];
    case "assistant":
      return assistantItems(message);
    case "tool":
      return [{ type: "function_call_output", call_id: message.toolCallId, output: outputOf(message) }];
    default:
      return message satisfies never;
  }
}

function userContent(content: Content): OpenAIResponsesPart[] {
  return partsOf(content).flatMap((part, index) =>
    part.type === "text" || part.type === "file" ? [responsesPart(part, `part-${index}.pdf`)] : [],
  );
}

function assistantItems(message: AssistantMessage): readonly OpenAIResponsesItem[] {
  const parts = readableParts(assistantParts(message), "openai");
  return parts.flatMap((part, index) => {
    if (part.type !== "thinking") return itemOf(part);
    // Several thinking parts can form one reasoning item: one part for each part of its summary. The first part writes
    // the item.
    const same = parts.filter((other) => other === part || isSameItem(other, part));
    return parts.indexOf(same[0] ?? part) === index ? reasoningItem(same.filter(isThinking)) : [];
  });
}

function isThinking(part: AssistantPart): part is ThinkingPart {
  return part.type === "thinking";
}

function isSameItem(a: AssistantPart, b: ThinkingPart): boolean {
  return isThinking(a) && idOf(a) !== undefined && idOf(a) === idOf(b);
}

function itemOf(part: AssistantPart): readonly OpenAIResponsesItem[] {
  switch (part.type) {
    case "text": {
      const phase = textField(part, "openai", "phase");
      const item = { role: "assistant", content: part.text, ...(phase === undefined ? {} : { phase }) };
      return [item as Assistant]; // the phase came from OpenAI
    }
    case "call": {
      const { id, name, arguments: input } = part.call;
      return [{ type: "function_call", call_id: id, name, arguments: JSON.stringify(argumentsObject(input)) }];
    }
    default:
      return []; // left out: the format has no such item in an assistant message
  }
}

function reasoningItem(parts: readonly ThinkingPart[]): readonly OpenAIResponsesItem[] {
  const [first] = parts;
  const encrypted = parts.findLast((part) => sealOf(part) !== undefined); // only the last part has the complete encrypted content
  const encrypted_content = encrypted === undefined ? undefined : sealOf(encrypted);
  if (first === undefined || encrypted_content === undefined) return [];
  const id = idOf(first);
  const summary = parts.filter(({ text }) => text !== "").map(({ text }) => ({ type: "summary_text" as const, text }));
  const item = { type: "reasoning", ...(id === undefined ? {} : { id }), encrypted_content, summary };
  return [item as Reasoning]; // see OpenAIResponsesItem
}

function idOf(part: ThinkingPart): string | undefined {
  return textField(part, "openai", "itemId");
}

function sealOf(part: ThinkingPart): string | undefined {
  return textField(part, "openai", "reasoningEncryptedContent");
}

function outputOf(message: ToolMessage): string | OpenAIResponsesPart[] {
  const result = toolOutputOf(message);
  switch (result.type) {
    case "text":
      return result.text;
    case "error":
      return JSON.stringify({ error: result.error }); // the format has no error flag
    case "parts":
      return result.parts.map((part) => responsesPart(part, "data"));
    default:
      return result satisfies never;
  }
}

function toolOf({ name, description, inputSchema }: ToolSpec) {
  const described = description === undefined ? {} : { description };
  return { type: "function" as const, name, ...described, parameters: inputSchema, strict: false as const };
}

/** One part of a user message or of a tool result. */
export type OpenAIResponsesPart =
  | { readonly type: "input_text"; readonly text: string }
  | Image
  | { readonly type: "input_file"; readonly file_url: string }
  | { readonly type: "input_file"; readonly filename: string; readonly file_data: string };

/** Makes the input part of a text or file. `nameless` is the name of a file without a name. */
function responsesPart(part: TextContentPart | FileContentPart, nameless: string): OpenAIResponsesPart {
  if (part.type === "text") return { type: "input_text", text: part.text };
  const source = sourceOf(part);
  if (familyOf(part) === "image") {
    const detail = textField(part, "openai", "imageDetail");
    const image = { type: "input_image", image_url: urlOf(part), ...(detail === undefined ? {} : { detail }) };
    return image as Image; // see OpenAIResponsesItem
  }
  if ("url" in source) return { type: "input_file", file_url: source.url };
  if (part.mediaType !== "application/pdf") return { type: "input_text", text: fileNote(part) };
  return { type: "input_file", filename: part.filename ?? nameless, file_data: urlOf(part) };
}
