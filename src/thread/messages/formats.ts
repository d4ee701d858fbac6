import { ThreadError } from "../errors.ts";
import { isPlainObject, type JsonValue, notOneOf } from "../json.ts";

/** How messages are written elsewhere: ours, those of two providers, and the two kinds of the AI SDK. */
export type MessageFormat = "neutral" | "openai-chat" | "anthropic" | "model-messages" | "ui-messages";

/** Fields that only one format has; messages that show none of them mean the same in several. */
const SIGNS: { readonly [name in MessageFormat]: RegExp | undefined } = {
  neutral: /"(toolCalls|base64|blob|metadata)":/,
  "openai-chat": /"(tool_calls|tool_call_id|function_call|refusal|image_url|input_audio)":/,
  anthropic: /"(tool_use_id|cache_control|media_type|thinking)":|"type":"tool_use"/,
  "model-messages": /"(providerOptions|toolName)":/,
  "ui-messages": undefined, // each of its messages has parts
};

const NAMES = Object.keys(SIGNS).filter(isFormat);

export function isFormat(name: unknown): name is MessageFormat {
  return typeof name === "string" && Object.hasOwn(SIGNS, name);
}

export function checkFormat(name: unknown): MessageFormat {
  if (isFormat(name)) return name;
  throw refused("invalid_options", notOneOf(NAMES, name));
}

/** The one format that a list can have. Inside a text a quote is escaped, so nothing that is said looks like a field. */
export function formatOf(list: readonly JsonValue[]): MessageFormat {
  const text = JSON.stringify(list);
  const isUi = list.length > 0 && list.every((message) => isPlainObject(message) && Array.isArray(message["parts"]));
  const [format, ...others] = isUi ? ["ui-messages" as const] : NAMES.filter((name) => SIGNS[name]?.test(text));
  if (format !== undefined && others.length === 0) return format;
  throw refused("unknown_message_format", `must be named, for the list could be several: one of ${NAMES.join(", ")}`);
}

/** Whether the prompt of a list is left out. */
export function dropsSystem(wanted: unknown): boolean {
  const words = ["keep", "drop"];
  if (wanted !== undefined && !words.includes(String(wanted))) {
    throw refused("invalid_options", notOneOf(words, wanted), "options.system");
  }
  return wanted === "drop";
}

function refused(code: string, rule: string, path = "options.format"): ThreadError {
  return new ThreadError({ code, path, message: `${path} ${rule}.` });
}
