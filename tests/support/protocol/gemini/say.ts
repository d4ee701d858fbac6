import type { JsonObject } from "heddle";
import { type Block, contentOf, type Said, type Usage } from "../answer.ts";
import { type Asked, paddedId } from "../api.ts";
import { objectOf } from "../json.ts";
import { dataFrame, type Frame } from "../sse.ts";
import { signedContent } from "./signatures.ts";

export function wholeGemini(said: Said, asked: Asked): JsonObject {
  const parts = saidParts(said, asked).flatMap(({ pieces, whole }) => (whole === undefined ? pieces : [whole]));
  return chunkOf(said, asked, parts, reasonOf(said));
}

/** Calls come whole; a text that is signed is followed by an empty one with the signature. */
export function streamGemini(said: Said, asked: Asked): readonly Frame[] {
  const pieces = saidParts(said, asked).flatMap(({ pieces }) => pieces);
  return [
    ...pieces.map((part) => dataFrame(chunkOf(said, asked, [part]), part["text"] === "" ? "rest" : "delta")),
    dataFrame(chunkOf(said, asked, [], reasonOf(said))),
  ];
}

interface SaidPart {
  /** As it is streamed. */
  readonly pieces: readonly JsonObject[];
  /** In one piece, when that is something else. */
  readonly whole?: JsonObject;
}

function saidParts({ blocks, finish }: Said, { world }: Asked): readonly SaidPart[] {
  if (finish === "refusal" || reasonOfCalls(blocks) !== undefined) return [];
  const signed = blocks.find(({ type }) => type === "call") ?? blocks.findLast(({ type }) => type === "text");
  return blocks.map((block) => {
    const seal = (part: JsonObject): JsonObject => {
      if (block !== signed) return part;
      return { ...part, thoughtSignature: world.seal("gemini", block.id, { content: signedContent(part) }) };
    };
    return partOf(block, seal, block === signed);
  });
}

function partOf(block: Block, seal: (part: JsonObject) => JsonObject, signed: boolean): SaidPart {
  switch (block.type) {
    case "text": {
      const texts = block.deltas.map((text) => ({ text }));
      return { pieces: signed ? [...texts, seal({ text: "" })] : texts, whole: seal({ text: contentOf(block) }) };
    }
    case "thinking":
      return {
        pieces: block.deltas.map((text) => ({ text, thought: true })),
        whole: { text: contentOf(block), thought: true },
      };
    case "redacted":
    case "search":
      return { pieces: [] };
    case "call": {
      const args = objectOf(JSON.parse(block.json));
      return { pieces: [seal({ functionCall: { id: block.callId, name: block.name, args } })] };
    }
    default:
      return block satisfies never;
  }
}

function chunkOf(
  { id, usage }: Said,
  { model }: Asked,
  parts: readonly JsonObject[],
  finishReason?: string,
): JsonObject {
  const content = { role: "model", ...(parts.length === 0 ? {} : { parts }) };
  return {
    candidates: [{ content, index: 0, ...(finishReason === undefined ? {} : { finishReason }) }],
    usageMetadata: usageOf(usage),
    modelVersion: model,
    responseId: paddedId("", id),
  };
}

function reasonOf({ blocks, finish }: Said): string {
  switch (finish) {
    case "stop":
    case "pause": // only Anthropic pauses
    case "tool_calls":
      return reasonOfCalls(blocks) ?? "STOP";
    case "length":
      return "MAX_TOKENS";
    case "refusal":
    case "content_filter":
      return "SAFETY";
    default:
      return finish satisfies never;
  }
}

/** Arguments that are no JSON never leave Google. */
function reasonOfCalls(blocks: readonly Block[]): string | undefined {
  const malformed = blocks.some((block) => block.type === "call" && !isJson(block.json));
  return malformed ? "MALFORMED_FUNCTION_CALL" : undefined;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function usageOf({ input, output, reasoning, cacheRead }: Usage): JsonObject {
  return {
    promptTokenCount: input,
    candidatesTokenCount: output - reasoning,
    totalTokenCount: input + output,
    ...(reasoning > 0 ? { thoughtsTokenCount: reasoning } : {}),
    ...(cacheRead > 0 ? { cachedContentTokenCount: cacheRead } : {}),
  };
}
