import type { Entry } from "../thread/entry.ts";
import { isPlainObject, type JsonObject, type JsonValue } from "../thread/json.ts";
import type { Thread } from "../thread/thread.ts";

/** How much of an answer was spoken or read: its first characters, in UTF-16 code units. The answer itself stays in the log. */
export type AnswerCut = {
  /** The entry of the answer. */
  readonly seq: number;
  readonly characters: number;
};

/** The cut that a note makes, or the end of a cancelled request. The newest cut of an answer counts. */
export function readCut({ kind, seq, payload }: Pick<Entry, "kind" | "seq" | "payload">): AnswerCut | undefined {
  const cut = kind === "note" || kind === "error" ? (payload as JsonObject)["cut"] : undefined; // every payload is a JSON object
  if (!isPlainObject(cut)) return undefined;
  const { seq: of, characters } = cut as JsonObject; // of JSON
  const isGood = isCount(of) && isCount(characters) && of < seq;
  return isGood ? { seq: of, characters } : undefined;
}

function isCount(value: JsonValue | undefined): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

/** Whether an entry is an answer of a model, which can be cut. */
export function isAnswer({ kind, payload }: Pick<Entry, "kind" | "payload">): boolean {
  return (kind === "message" || kind === "ai_message") && (payload as JsonObject)["role"] === "assistant"; // every payload is a JSON object
}

/** Whether an entry is an answer that has words, which can be spoken. */
export function hasWords(entry: Entry): boolean {
  return isAnswer(entry) && answerText(entry) !== "";
}

/** The last answer of a request that has words, among the loaded entries. */
export function lastAnswer(thread: Thread, requestId: string): Entry | undefined {
  return thread.filterByRef("requestId", requestId, { partial: true }).findLast(hasWords);
}

/** The text of an answer, to which the number of characters refers. */
export function answerText({ payload }: Pick<Entry, "payload">): string {
  return partsOf((payload as JsonObject)["content"]).reduce<string>((text, part) => text + (textIn(part) ?? ""), "");
}

/**
 * The payload of an answer with its first characters. Its reasoning goes, because it led to words that were not spoken. In an
 * answer with calls it stays: a provider may refuse the calls without it. Calls and results of a provider stay too.
 */
export function cutPayload(payload: JsonObject, characters: number): JsonObject {
  const { content, thinking, ...others } = payload;
  const parts = partsOf(content);
  const hasCalls = hasItems(payload["toolCalls"]) || parts.some((part) => typeOf(part) === "provider_call");
  let left = characters;
  const kept = parts.flatMap((part): readonly JsonValue[] => {
    const type = typeOf(part);
    const text = textIn(part);
    if (text === undefined) return hasCalls && type !== "file" && type !== "source" ? [part] : [];
    const shown = beginning(text, left);
    left -= Math.min(left, text.length);
    if (shown === "") return [];
    // Metadata may refer to the whole text, or to thinking that is gone.
    return [hasCalls && shown === text ? part : { type: "text", text: shown }];
  });
  const isText = typeof content === "string";
  return {
    ...others,
    content: isText ? beginning(content, characters) : kept,
    ...(hasCalls && thinking !== undefined && { thinking }),
  };
}

/** The first characters of a text, and never half of a surrogate pair. */
function beginning(text: string, characters: number): string {
  const cut = text.slice(0, Math.max(0, characters));
  return cut.isWellFormed() || !text.isWellFormed() ? cut : cut.slice(0, -1);
}

function partsOf(content: JsonValue | undefined): readonly JsonValue[] {
  if (Array.isArray(content)) return content;
  return typeof content === "string" ? [{ type: "text", text: content }] : [];
}

function typeOf(part: JsonValue): JsonValue | undefined {
  return isPlainObject(part) ? (part as JsonObject)["type"] : undefined; // of JSON
}

function textIn(part: JsonValue): string | undefined {
  const text = typeOf(part) === "text" ? (part as JsonObject)["text"] : undefined; // it has a type
  return typeof text === "string" ? text : undefined;
}

function hasItems(list: JsonValue | undefined): boolean {
  return Array.isArray(list) && list.length > 0;
}

/** The number of characters of an answer up to the end of what was spoken. White space may differ. Undefined: the answer does not begin so. */
export function spokenCharacters(text: string, spoken: string): number | undefined {
  let at = 0;
  for (const character of spoken) {
    if (character.trim() === "") continue;
    while (at < text.length && text.charAt(at).trim() === "") at++;
    if (!text.startsWith(character, at)) return undefined;
    at += character.length;
  }
  return at;
}
