import type { TextContentPart, ThinkingPart } from "../thread/message.ts";
import { type AssistantPart, type MetadataOwner, metadataOf, textField } from "./message-parts.ts";

/**
 * Returns the parts of an answer that a provider can read. Thinking is returned only to the provider that signed it;
 * others may refuse the request. An empty text is kept only for Gemini, if Gemini has signed it. If OpenAI has stored
 * its items, an id is enough.
 */
export function readableParts(
  parts: readonly AssistantPart[],
  owner: MetadataOwner,
  isStored = false,
): readonly AssistantPart[] {
  switch (owner) {
    case "google":
      return parts.filter((part) => (isBlank(part) || part.type === "thinking" ? isSignedBy(part, owner) : true));
    case "anthropic":
      return withoutBlanks(parts).filter((part) => part.type !== "thinking" || isSignedBy(part, owner));
    case "openai":
      return isStored
        ? withoutLooseItems(withoutLooseReasoning(withoutBlanks(parts).filter(isOfOpenAI)))
        : withoutLooseReasoning(withoutUnsealedReasoning(withoutBlanks(parts)));
    default:
      return owner satisfies never;
  }
}

function isBlank(part: AssistantPart): part is TextContentPart {
  return part.type === "text" && part.text === "";
}

function withoutBlanks(parts: readonly AssistantPart[]): readonly AssistantPart[] {
  return parts.filter((part) => !isBlank(part));
}

function isSignedBy(part: ThinkingPart | TextContentPart, owner: "anthropic" | "google"): boolean {
  if (owner === "google") return textField(part, owner, "thoughtSignature") !== undefined;
  const { signature, redactedData } = metadataOf(part, owner);
  // Thinking with an empty text may have a signature, which must be sent.
  return typeof signature === "string" || typeof redactedData === "string";
}

/**
 * Drops reasoning items that only refer to items stored at OpenAI. An item is kept if one of its parts has the
 * encrypted content.
 */
function withoutUnsealedReasoning(parts: readonly AssistantPart[]): readonly AssistantPart[] {
  const isSealed = (part: ThinkingPart): boolean =>
    textField(part, "openai", "reasoningEncryptedContent") !== undefined;
  const itemOf = (part: ThinkingPart): string | undefined => textField(part, "openai", "itemId");
  const sealed = new Set(parts.flatMap((part) => (part.type === "thinking" && isSealed(part) ? [itemOf(part)] : [])));
  return parts.filter(
    (part) => part.type !== "thinking" || isSealed(part) || (itemOf(part) !== undefined && sealed.has(itemOf(part))),
  );
}

function isOfOpenAI(part: AssistantPart): boolean {
  return part.type !== "thinking" || Object.keys(metadataOf(part, "openai")).length > 0;
}

/**
 * Removes the item ids of texts in an answer without reasoning. OpenAI accepts a text by id only together with its
 * reasoning.
 */
function withoutLooseItems(parts: readonly AssistantPart[]): readonly AssistantPart[] {
  if (parts.some(({ type }) => type === "thinking")) return parts;
  return parts.map((part) => {
    if (part.type !== "text" || textField(part, "openai", "itemId") === undefined) return part;
    const { itemId: _itemId, ...openai } = metadataOf(part, "openai");
    return { ...part, metadata: { ...part.metadata, openai } };
  });
}

/** Drops reasoning without a later text or call, because OpenAI refuses it. */
function withoutLooseReasoning(parts: readonly AssistantPart[]): readonly AssistantPart[] {
  const last = parts.findLastIndex(({ type }) => type === "text" || type === "call");
  return parts.filter((part, index) => part.type !== "thinking" || index < last);
}
