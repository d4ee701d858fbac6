import type { TextPart, ThinkingPart } from "../thread/message.ts";
import { type MetadataOwner, metadataOf, textField } from "./metadata.ts";
import type { Piece } from "./parts.ts";

/**
 * The pieces of an answer that one provider can read. Thinking is returned only to the provider that signed it; others may
 * refuse the request. An empty text is kept only for Gemini, which may have signed it. If OpenAI has stored its items, an id
 * is enough.
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
  // Thinking with an empty text may have a signature, which must be sent.
  return typeof signature === "string" || typeof redactedData === "string";
}

/** Drops items that only refer to what OpenAI stored. An item is kept if any of its parts has the encrypted content. */
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

/** OpenAI accepts an answer by id only together with the reasoning before it. Without the id, the answer is complete. */
function withoutLooseItems(pieces: readonly Piece[]): readonly Piece[] {
  if (pieces.some(({ type }) => type === "thinking")) return pieces;
  return pieces.map((piece) => {
    if (piece.type !== "text" || textField(piece, "openai", "itemId") === undefined) return piece;
    const { itemId: _itemId, ...openai } = metadataOf(piece, "openai");
    return { ...piece, metadata: { ...piece.metadata, openai } };
  });
}

/** OpenAI refuses a reasoning item without the text or call that followed it. */
function withoutLooseReasoning(pieces: readonly Piece[]): readonly Piece[] {
  const last = pieces.findLastIndex(({ type }) => type === "text" || type === "call");
  return pieces.filter((piece, index) => piece.type !== "thinking" || index < last);
}
