import type { Message, PartMetadata } from "../thread/message.ts";
import { utf8Length } from "./utf8.ts";

/** The metadata fields with signatures and encrypted reasoning, in base64. */
const FIELDS = ["signature", "redactedData", "reasoningEncryptedContent", "thoughtSignature"] as const;

/** Base64 has 4 characters for 3 bytes, and a token is about 4 bytes of text. Tokenizers would count the base64 itself. */
const TOKENS_PER_CHARACTER = 3 / 16;

/**
 * The tokens of encrypted or signed reasoning beyond its readable text. The text is the whole reasoning or a summary of it,
 * so the provider counts the larger of the two.
 */
export function reasoningDataTokens(message: Message): number {
  if (message.role !== "assistant") return 0;
  const parts = typeof message.content === "string" ? [] : message.content;
  const inParts = parts.reduce((sum, part) => {
    const readable = part.type === "thinking" ? Math.floor(utf8Length(part.text) / 4) : 0;
    return sum + Math.max(0, dataTokens(part.metadata) - readable);
  }, 0);
  return (message.toolCalls ?? []).reduce((sum, { metadata }) => sum + dataTokens(metadata), inParts);
}

function dataTokens(metadata: PartMetadata | undefined): number {
  let characters = 0;
  for (const ofProvider of Object.values(metadata ?? {})) {
    for (const field of FIELDS) {
      const data = ofProvider[field];
      if (typeof data === "string") characters += data.length;
    }
  }
  return Math.floor(characters * TOKENS_PER_CHARACTER);
}
