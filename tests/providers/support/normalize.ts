import type { JsonObject, JsonValue, Message } from "heddle";
import { type ProviderApi, toAnthropic, toGemini, toOpenAIChat, toOpenAIResponses } from "heddle/providers";

/** The fields that messages and tools decide; model, temperature and the like are not ours. */
const FIELDS = {
  "openai-chat": ["messages", "tools"],
  "openai-responses": ["input", "tools", "store"],
  anthropic: ["system", "messages", "tools"],
  gemini: ["systemInstruction", "contents", "tools"],
} as const satisfies { readonly [api in ProviderApi]: readonly string[] };

const FORMATTERS = {
  "openai-chat": toOpenAIChat,
  "openai-responses": toOpenAIResponses,
  anthropic: toAnthropic,
  gemini: toGemini,
};

/** Our own wire, as JSON brings it to the provider. */
export function wireOfOurs(api: ProviderApi, ...args: Parameters<typeof toOpenAIChat>): JsonObject {
  return JSON.parse(JSON.stringify(FORMATTERS[api](...args))) as JsonObject; // our own text, an object
}

/**
 * What both sides are brought to before they must be equal. Each difference is one we want:
 *
 * - gemini: the package fills in `skip_thought_signature_validator` on every unsigned call of a message that has no signed
 *   one, in all turns. Google checks the first call of each step in the current turn, and only there we fill it in.
 *
 * The field list above is the other normalization: the package also sends model, temperature and the like.
 */
export function normalized(api: ProviderApi, body: JsonObject): JsonObject {
  const fields = FIELDS[api].filter((field) => body[field] !== undefined);
  const picked = Object.fromEntries(fields.map((field) => [field, body[field]]));
  return api === "gemini" ? (withoutFilledSignatures(picked) as JsonObject) : picked; // an object stays one
}

function withoutFilledSignatures(value: JsonValue): JsonValue {
  return JSON.parse(
    JSON.stringify(value, (key, item) =>
      key === "thoughtSignature" && item === "skip_thought_signature_validator" ? undefined : item,
    ),
  );
}

/**
 * What is not compared for one provider, because there the package does what we will not follow:
 *
 * - openai-chat: a result made of parts is sent as the JSON text of the AI SDK's own parts, bytes of images included. We
 *   send its text, and its images as a user message behind the results.
 */
export function comparable(api: ProviderApi, messages: readonly Message[]): boolean {
  switch (api) {
    case "openai-chat":
      return !messages.some(({ role, content }) => role === "tool" && typeof content !== "string");
    case "openai-responses":
    case "anthropic":
    case "gemini":
      return true;
    default:
      return api satisfies never;
  }
}
