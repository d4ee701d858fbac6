import type { JsonObject } from "../../thread/json.ts";
import type { AssistantMessage, Content, Message, ThinkingPart, ToolMessage, ToolSpec } from "../../thread/message.ts";
import { objectOf } from "../arguments.ts";
import { textField } from "../metadata.ts";
import { type Piece, partsOf, piecesOf } from "../parts.ts";
import { resultOf } from "../results.ts";
import { readablePieces } from "../thinking.ts";
import { type OpenAIResponsesPart, responsesPart } from "./openai-responses-files.ts";

export type OpenAIResponsesItem =
  | { readonly role: "system"; readonly content: string }
  | { readonly role: "user"; readonly content: readonly OpenAIResponsesPart[] }
  | { readonly role: "assistant"; readonly content: string; readonly phase?: string }
  | {
      readonly type: "reasoning";
      readonly id?: string;
      readonly encrypted_content: string;
      readonly summary: readonly { readonly type: "summary_text"; readonly text: string }[];
    }
  | { readonly type: "function_call"; readonly call_id: string; readonly name: string; readonly arguments: string }
  | {
      readonly type: "function_call_output";
      readonly call_id: string;
      readonly output: string | readonly OpenAIResponsesPart[];
    };

export interface OpenAIResponsesBody {
  readonly input: readonly OpenAIResponsesItem[];
  readonly tools?: readonly {
    readonly type: "function";
    readonly name: string;
    readonly description?: string;
    readonly parameters: JsonObject;
    readonly strict: false;
  }[];
  readonly store: false;
}

/**
 * The fields `input`, `tools` and `store` of a Responses request. It has no references to items that OpenAI stored, because
 * they break when a list is trimmed. Request `include: ["reasoning.encrypted_content"]` to get reasoning that can be sent
 * back.
 *
 * @example
 * const { input } = toOpenAIResponses([{ role: "system", content: "Be brief." }, { role: "user", content: "Hi" }]);
 * console.log(input.length); // 2
 */
export function toOpenAIResponses(messages: readonly Message[], tools: readonly ToolSpec[] = []): OpenAIResponsesBody {
  const input = messages.flatMap(itemsOf);
  return { input, ...(tools.length === 0 ? {} : { tools: tools.map(toolOf) }), store: false };
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

function userContent(content: Content): readonly OpenAIResponsesPart[] {
  return partsOf(content).flatMap((part, index) =>
    part.type === "text" || part.type === "file" ? [responsesPart(part, `part-${index}.pdf`)] : [],
  );
}

function assistantItems(message: AssistantMessage): readonly OpenAIResponsesItem[] {
  const pieces = readablePieces(piecesOf(message), "openai");
  return pieces.flatMap((piece, index) => {
    if (piece.type !== "thinking") return itemOf(piece);
    // One reasoning item may be several thinking parts, one for each part of its summary.
    const same = pieces.filter((other) => other === piece || isSameItem(other, piece));
    return pieces.indexOf(same[0] ?? piece) === index ? reasoningItem(same.filter(isThinking)) : [];
  });
}

function isThinking(piece: Piece): piece is ThinkingPart {
  return piece.type === "thinking";
}

function isSameItem(a: Piece, b: ThinkingPart): boolean {
  return isThinking(a) && idOf(a) !== undefined && idOf(a) === idOf(b);
}

function itemOf(piece: Piece): readonly OpenAIResponsesItem[] {
  switch (piece.type) {
    case "text": {
      const phase = textField(piece, "openai", "phase");
      return [{ role: "assistant", content: piece.text, ...(phase === undefined ? {} : { phase }) }];
    }
    case "call": {
      const { id, name, arguments: input } = piece.call;
      return [{ type: "function_call", call_id: id, name, arguments: JSON.stringify(objectOf(input)) }];
    }
    default:
      return []; // files, sources and provider calls of the assistant have no item
  }
}

function reasoningItem(parts: readonly ThinkingPart[]): readonly OpenAIResponsesItem[] {
  const [first] = parts;
  const encrypted = parts.findLast((part) => sealOf(part) !== undefined); // only the last one is complete
  const encrypted_content = encrypted === undefined ? undefined : sealOf(encrypted);
  if (first === undefined || encrypted_content === undefined) return [];
  const id = idOf(first);
  const summary = parts.filter(({ text }) => text !== "").map(({ text }) => ({ type: "summary_text" as const, text }));
  return [{ type: "reasoning", ...(id === undefined ? {} : { id }), encrypted_content, summary }];
}

function idOf(part: ThinkingPart): string | undefined {
  return textField(part, "openai", "itemId");
}

function sealOf(part: ThinkingPart): string | undefined {
  return textField(part, "openai", "reasoningEncryptedContent");
}

function outputOf(message: ToolMessage): string | readonly OpenAIResponsesPart[] {
  const result = resultOf(message);
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
