import type { JsonObject, JsonValue } from "../../thread/json.ts";
import {
  type FileContentPart,
  groupAdjacent,
  type Message,
  type ToolMessage,
  type ToolSpec,
} from "../../thread/message.ts";
import {
  type AssistantPart,
  argumentsObject,
  assistantParts,
  functionTools,
  mediaTypeOf,
  messagesFor,
  partsOf,
  sourceOf,
  textField,
  toolOutputOf,
} from "../message-parts.ts";
import { readableParts } from "../thinking.ts";

/** A file, as bytes or by URI. */
export type GeminiFile =
  | { readonly inlineData: { readonly mimeType: string; readonly data: string } }
  | { readonly fileData: { readonly mimeType: string; readonly fileUri: string } };

/** One part of a content. */
export type GeminiPart = { readonly thoughtSignature?: string } & (
  | { readonly text: string; readonly thought?: true }
  | { readonly functionCall: { readonly id: string; readonly name: string; readonly args: JsonObject } }
  | {
      readonly functionResponse: {
        readonly id: string;
        readonly name: string;
        readonly response: { readonly name: string; readonly content?: JsonValue; readonly error?: JsonValue };
        readonly parts?: GeminiFile[];
      };
    }
  | GeminiFile
);

/** One message of a generateContent request. */
export interface GeminiContent {
  readonly role: "user" | "model";
  readonly parts: GeminiPart[];
}

/** The fields of a generateContent request that `toGemini` makes. */
export interface GeminiBody {
  readonly systemInstruction?: { readonly parts: { readonly text: string }[] };
  readonly contents: GeminiContent[];
  readonly tools?: [
    {
      readonly functionDeclarations: {
        readonly name: string;
        readonly description: string;
        readonly parametersJsonSchema: JsonObject;
      }[];
    },
  ];
}

/** How `toGemini` fills in missing thought signatures. */
export interface GeminiOptions {
  /**
   * Whether a call without a thought signature gets the placeholder that Google documents. Gemini 3 refuses a call without one
   * in the current turn. Older models ignore it. Default true.
   */
  readonly fillSignatures?: boolean | undefined;
}

/** Google's placeholder for a missing signature: https://ai.google.dev/gemini-api/docs/thought-signatures. */
const SKIP_VALIDATION = "skip_thought_signature_validator";

/**
 * Makes the fields `systemInstruction`, `contents` and `tools` of a generateContent request. The results of parallel
 * calls form one content. Signatures stay on their parts.
 * @example
 * const { contents } = toGemini([{ role: "user", content: "Hi" }]);
 * console.log(contents); // [ { role: 'user', parts: [ { text: 'Hi' } ] } ]
 */
export function toGemini(
  list: readonly Message[],
  tools: readonly ToolSpec[] = [],
  options: GeminiOptions = {},
): GeminiBody {
  const messages = messagesFor("gemini", list);
  const system = messages.flatMap((message) => (message.role === "system" ? [{ text: message.content }] : []));
  const contents = groupAdjacent(messages, areOneContent).map(contentOf);
  const own = functionTools(tools);
  const kept = contents.filter(({ parts }) => parts.length > 0); // Gemini refuses empty contents: "contents.parts must not be empty"
  return {
    ...(system.length === 0 ? {} : { systemInstruction: { parts: system } }),
    contents: options.fillSignatures === false ? kept : fillSignatures(kept),
    ...(own.length === 0 ? {} : { tools: [{ functionDeclarations: own.map(declarationOf) }] }),
  };
}

/**
 * Whether two adjacent messages become one content. Assistant messages do, because a call must not follow a model turn.
 * Adjacent results do too.
 */
function areOneContent(a: Message, b: Message): boolean {
  return a.role === b.role && (a.role === "tool" || a.role === "assistant");
}

function contentOf(group: readonly Message[]): GeminiContent {
  return { role: group[0]?.role === "assistant" ? "model" : "user", parts: group.flatMap(geminiParts) };
}

/** Adds placeholder signatures. Gemini checks the first call of each step since the last user message. */
function fillSignatures(contents: readonly GeminiContent[]): GeminiContent[] {
  const turn = contents.findLastIndex(({ role, parts }) => role === "user" && parts.some(isStandard));
  return contents.map((content, index) =>
    index < turn || content.role === "user" ? content : { ...content, parts: signFirstCall(content.parts) },
  );
}

function isStandard(part: GeminiPart): boolean {
  return !("functionResponse" in part);
}

function signFirstCall(parts: readonly GeminiPart[]): GeminiPart[] {
  const first = parts.findIndex((part) => "functionCall" in part);
  return parts.map((part, index) =>
    index === first && part.thoughtSignature === undefined ? { ...part, thoughtSignature: SKIP_VALIDATION } : part,
  );
}

function declarationOf({ name, description = "", inputSchema }: ToolSpec) {
  return { name, description, parametersJsonSchema: inputSchema };
}

/** Returns the parts of one message. System messages have none, because they are a separate field. */
function geminiParts(message: Message): readonly GeminiPart[] {
  switch (message.role) {
    case "system":
      return [];
    case "user":
      return partsOf(message.content).flatMap((part): readonly GeminiPart[] => {
        if (part.type === "text") return part.text === "" ? [] : [{ text: part.text }];
        return part.type === "file" ? [geminiFile(part)] : [];
      });
    case "assistant":
      return readableParts(assistantParts(message), "google").flatMap(modelPart);
    case "tool":
      return [functionResponse(message)];
    default:
      return message satisfies never;
  }
}

/** A signature must be returned on the part it came with, even on an empty text. */
function modelPart(part: AssistantPart): readonly GeminiPart[] {
  const signature = textField(part.type === "call" ? part.call : part, "google", "thoughtSignature");
  const signed = signature === undefined ? {} : { thoughtSignature: signature };
  switch (part.type) {
    case "text":
      return [{ text: part.text, ...signed }];
    case "thinking":
      return [{ text: part.text, thought: true, ...signed }];
    case "file":
      return [{ ...geminiFile(part), ...signed }];
    case "call": {
      const { id, name, arguments: input } = part.call;
      return [{ functionCall: { id, name, args: argumentsObject(input) }, ...signed }];
    }
    case "source":
    case "custom":
    case "provider_call":
    case "provider_result":
      return []; // left out: such calls have special forms, which toAISDKPrompt supports
    default:
      return part satisfies never;
  }
}

function geminiFile(part: FileContentPart): GeminiFile {
  const source = sourceOf(part);
  const mimeType = mediaTypeOf(part);
  return "url" in source
    ? { fileData: { mimeType, fileUri: source.url } }
    : { inlineData: { mimeType, data: source.base64 } };
}

function functionResponse(message: ToolMessage): GeminiPart {
  const { toolCallId: id, name } = message;
  const result = toolOutputOf(message);
  switch (result.type) {
    case "text":
      return { functionResponse: { id, name, response: { name, content: result.text } } };
    case "error":
      return { functionResponse: { id, name, response: { name, error: result.error } } };
    case "parts": {
      const texts = result.parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
      const files = result.parts.flatMap((part) => (part.type === "file" ? [geminiFile(part)] : []));
      const content = texts.length === 0 ? "Tool executed successfully." : texts.join("\n");
      const parts = files.length === 0 ? {} : { parts: files };
      return { functionResponse: { id, name, response: { name, content }, ...parts } };
    }
    default:
      return result satisfies never;
  }
}
