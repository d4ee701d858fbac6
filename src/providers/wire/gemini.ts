import type { Message, ToolSpec } from "../../thread/message.ts";
import { runs } from "../runs.ts";
import { geminiParts } from "./gemini-parts.ts";
import type { GeminiBody, GeminiContent, GeminiPart } from "./gemini-types.ts";

export interface GeminiOptions {
  /**
   * Whether a call without its thought signature gets the value that Google documents for that case. Gemini 3 refuses such
   * a call in the current turn, older models do not look. Default true.
   */
  readonly fillSignatures?: boolean | undefined;
}

/** Documented at https://ai.google.dev/gemini-api/docs/thought-signatures. */
const SKIP_VALIDATION = "skip_thought_signature_validator";

/**
 * The fields `systemInstruction`, `contents` and `tools` of a generateContent request: the results of one step alone in
 * their content, signatures on the parts they came with.
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

/** Two answers in a row are one, or a call would follow a model turn; what the user says stays apart from results. */
function areOneContent(a: Message, b: Message): boolean {
  return a.role === b.role && (a.role === "tool" || a.role === "assistant");
}

function contentOf(run: readonly Message[]): GeminiContent {
  return { role: run[0]?.role === "assistant" ? "model" : "user", parts: run.flatMap(geminiParts) };
}

/** Checked is the first call of each step since the user last spoke. */
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
