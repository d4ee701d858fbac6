import type { TextPart, ThinkingPart } from "../thread/message.ts";
import { type MetadataOwner, metadataOf, textField } from "./metadata.ts";
import type { Piece } from "./parts.ts";

/**
 * What of an answer one provider can read. Thinking goes back only to the provider that signed it: to any other it is
 * noise, or a refused request. An empty text is kept for Gemini alone, which may have signed it. Where OpenAI has stored its
 * items, an id is enough.
 */
export function readablePieces(pieces: readonly Piece[], owner: MetadataOwner, isStored = false): readonly Piece[] {
  switch (owner) {
    case "google":
      return pieces.filter((piece) => (isBlank(piece) || piece.type === "thinking" ? isSignedBy(piece, owner) : true));
    case "anthropic":
      return withoutBlanks(pieces).filter((piece) => piece.type !== "thinking" || isSignedBy(piece, owner));
    case "openai":
      return isStored
        ? withoutLooseItems(withoutLooseReasoning(withoutBlanks(pieces).filter(isOfOpenAI)))
        : withoutLooseReasoning(withoutUnsealedReasoning(withoutBlanks(pieces)));
    default:
      return owner satisfies never;
  }
}

function isBlank(piece: Piece): piece is TextPart {
  return piece.type === "text" && piece.text === "";
}

function withoutBlanks(pieces: readonly Piece[]): readonly Piece[] {
  return pieces.filter((piece) => !isBlank(piece));
}

function isSignedBy(part: ThinkingPart | TextPart, owner: "anthropic" | "google"): boolean {
  if (owner === "google") return textField(part, owner, "thoughtSignature") !== undefined;
  const { signature, redactedData } = metadataOf(part, owner);
  // Thinking with an empty text still has its signature, and is sent with it.
  return typeof signature === "string" || typeof redactedData === "string";
}

/** An item id alone refers to what OpenAI stored; with its content, often on its last part only, an item stands alone. */
function withoutUnsealedReasoning(pieces: readonly Piece[]): readonly Piece[] {
  const isSealed = (part: ThinkingPart): boolean =>
    textField(part, "openai", "reasoningEncryptedContent") !== undefined;
  const itemOf = (part: ThinkingPart): string | undefined => textField(part, "openai", "itemId");
  const sealed = new Set(
    pieces.flatMap((piece) => (piece.type === "thinking" && isSealed(piece) ? [itemOf(piece)] : [])),
  );
  return pieces.filter(
    (piece) =>
      piece.type !== "thinking" || isSealed(piece) || (itemOf(piece) !== undefined && sealed.has(itemOf(piece))),
  );
}

function isOfOpenAI(piece: Piece): boolean {
  return piece.type !== "thinking" || Object.keys(metadataOf(piece, "openai")).length > 0;
}

/** OpenAI takes an answer by its id only together with the reasoning that led to it; without the id it stands alone. */
function withoutLooseItems(pieces: readonly Piece[]): readonly Piece[] {
  if (pieces.some(({ type }) => type === "thinking")) return pieces;
  return pieces.map((piece) => {
    if (piece.type !== "text" || textField(piece, "openai", "itemId") === undefined) return piece;
    const { itemId: _itemId, ...openai } = metadataOf(piece, "openai");
    return { ...piece, metadata: { ...piece.metadata, openai } };
  });
}

/** OpenAI refuses a reasoning item that is not followed by the text or call it led to. */
function withoutLooseReasoning(pieces: readonly Piece[]): readonly Piece[] {
  const last = pieces.findLastIndex(({ type }) => type === "text" || type === "call");
  return pieces.filter((piece, index) => piece.type !== "thinking" || index < last);
}
