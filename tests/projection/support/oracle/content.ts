import type { Content, Part } from "heddle";
import type { FileContentPart, ThinkingPart } from "heddle/core";

export function isBlank(text: string): boolean {
  return text.trim() === "";
}

export function partsOf(content: Content): readonly Part[] {
  if (typeof content !== "string") return content;
  return content === "" ? [] : [{ type: "text", text: content }];
}

function hasText(content: Content): boolean {
  return partsOf(content).some((part) => part.type === "text" && !isBlank(part.text));
}

/** A user's content; undefined when it says nothing. */
export function legalUser(content: Content): Content | undefined {
  const legal = withoutBlanks(content, false);
  return hasText(legal) || partsOf(legal).some(({ type }) => type === "file") ? legal : undefined;
}

/** An assistant's content; undefined when it says nothing, though it may have been thought over. */
export function legalAssistant(content: Content, calls: number): Content | undefined {
  const legal = withoutBlanks(content, true);
  if (hasText(legal) || calls > 0) return legal;
  const files = partsOf(legal).filter((part) => part.type === "file");
  if (files.length === 0) return undefined;
  const first = partsOf(legal).findIndex(({ type }) => type === "file");
  return partsOf(legal).toSpliced(first, 0, { type: "text", text: files.map(noteOf).join("\n") });
}

/** The content of a result: its text may be anything. */
export function legalResult(content: Content, isError: boolean): Content {
  if (typeof content === "string") return content;
  const legal = partsOf(withoutBlanks(content, false));
  return isError ? legal.map((part) => (part.type === "file" ? { type: "text", text: noteOf(part) } : part)) : legal;
}

function withoutBlanks(content: Content, signed: boolean): Content {
  if (typeof content === "string") return isBlank(content) ? "" : content;
  return content.flatMap((part): readonly Part[] => {
    if (part.type === "file") return [isUsable(part) ? part : { type: "text", text: noteOf(part) }];
    if (part.type !== "text" || !isBlank(part.text)) return [part];
    return signed && part.metadata !== undefined ? [{ ...part, text: "" }] : [];
  });
}

function isUsable({ data }: FileContentPart): boolean {
  return !("url" in data) || URL.canParse(data.url);
}

function noteOf({ mediaType, filename }: FileContentPart): string {
  return `[A file (${filename === undefined ? mediaType : `${filename}, ${mediaType}`}) that cannot be shown here]`;
}

/** One content of several, with places for calls that something was said after. */
export function joined(members: readonly { readonly content: Content; readonly calls: readonly string[] }[]): Content {
  const last = members.findLastIndex(({ content }) => content.length > 0);
  const placed = members.map(({ content, calls }, index): Content => {
    const parts = partsOf(content);
    const missing = calls.filter((id) => !parts.some((part) => part.type === "tool_call" && part.id === id));
    if (index >= last || missing.length === 0) return content;
    return [...parts, ...missing.map((id) => ({ type: "tool_call" as const, id }))];
  });
  return members.length === 1 ? (members[0]?.content ?? "") : plain(placed.flatMap(partsOf));
}

/** What is left of a content: one text is that text. */
export function plain(content: Content): Content {
  const [only, ...more] = content;
  if (only === undefined) return "";
  if (typeof only === "string" || more.length > 0 || only.type !== "text") return content;
  return only.metadata === undefined ? only.text : content;
}

export function thinkingIn(content: Content): readonly ThinkingPart[] {
  return partsOf(content).filter((part) => part.type === "thinking");
}

/** The content of an assistant message at the very end: providers refuse whitespace there. */
export function withoutTrailingSpace(content: Content): Content {
  if (typeof content === "string") return content.trimEnd();
  const last = content.findLastIndex(({ type }) => type === "text");
  return content.map((part, index) =>
    index === last && part.type === "text" ? { ...part, text: part.text.trimEnd() } : part,
  );
}
