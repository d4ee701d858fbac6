import type { Message, ToolSpec } from "../../thread/message.ts";
import { runs } from "../runs.ts";
import { geminiParts } from "./gemini-parts.ts";
import type { GeminiBody, GeminiContent, GeminiPart } from "./gemini-types.ts";

export interface GeminiOptions {
  /**
   * Whether a call without a thought signature gets the placeholder that Google documents. Gemini 3 refuses a call without one
   * in the current turn. Older models ignore it. Default true.
   */
  readonly fillSignatures?: boolean | undefined;
}

/** Documented at https://ai.google.dev/gemini-api/docs/thought-signatures. */
const SKIP_VALIDATION = "skip_thought_signature_validator";

/**
 * The fields `systemInstruction`, `contents` and `tools` of a generateContent request. The results of one step have their
 * own content, and signatures are on the parts they came with.
 *
 * @example
 * const { contents } = toGemini([{ role: "user", content: "Hi" }]);
 * console.log(contents); // [ { role: 'user', parts: [ { text: 'Hi' } ] } ]
 */
export function toGemini(
  messages: readonly Message[],
  tools: readonly ToolSpec[] = [],
  options: GeminiOptions = {},
): GeminiBody {
  const system = messages.flatMap((message) => (message.role === "system" ? [{ text: message.content }] : []));
  const contents = runs(messages, areOneContent).map(contentOf);
  const kept = contents.filter(({ parts }) => parts.length > 0); // "contents.parts must not be empty"
  return {
    ...(system.length === 0 ? {} : { systemInstruction: { parts: system } }),
    contents: options.fillSignatures === false ? kept : fillSignatures(kept),
    ...(tools.length === 0 ? {} : { tools: [{ functionDeclarations: tools.map(declarationOf) }] }),
  };
}

/** Joins adjacent answers, because a call must not follow a model turn. User messages and results are not joined. */
function areOneContent(a: Message, b: Message): boolean {
  return a.role === b.role && (a.role === "tool" || a.role === "assistant");
}

function contentOf(run: readonly Message[]): GeminiContent {
  return { role: run[0]?.role === "assistant" ? "model" : "user", parts: run.flatMap(geminiParts) };
}

/** Gemini checks the first call of each step since the last user message. */
function fillSignatures(contents: readonly GeminiContent[]): readonly GeminiContent[] {
  const turn = contents.findLastIndex(({ role, parts }) => role === "user" && parts.some(isStandard));
  return contents.map((content, index) =>
    index < turn || content.role === "user" ? content : { ...content, parts: signFirstCall(content.parts) },
  );
}

function isStandard(part: GeminiPart): boolean {
  return !("functionResponse" in part);
}

function signFirstCall(parts: readonly GeminiPart[]): readonly GeminiPart[] {
  const first = parts.findIndex((part) => "functionCall" in part);
  return parts.map((part, index) =>
    index === first && part.thoughtSignature === undefined ? { ...part, thoughtSignature: SKIP_VALIDATION } : part,
  );
}

function declarationOf({ name, description = "", inputSchema }: ToolSpec) {
  return { name, description, parametersJsonSchema: inputSchema };
}
