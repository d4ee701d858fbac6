import type { FilePart, Message, Part, TextPart } from "../../thread/message.ts";
import { canReadRun, isProviderRun } from "../../thread/provider-executor.ts";
import { everywhere, only, type ProviderApi, type Rule } from "./rule.ts";

/** Rules about the content of a message. */
export const contentRules = {
  /** Gemini: "contents.parts must not be empty". The other providers have similar errors. */
  empty_content: everywhere("a message needs text, and the assistant's text or a call.", (messages) =>
    messages.findIndex(isEmpty),
  ),
  /** Anthropic: "text content blocks must be non-empty". */
  empty_text: everywhere("a text is empty; leave it out.", (messages) => messages.findIndex(hasEmptyText)),
  /** Anthropic: "text content blocks must contain non-whitespace text". */
  whitespace_text: everywhere("a text is nothing but whitespace.", (messages) =>
    messages.findIndex((message) => textsOf(message).some((text) => text !== "" && text.trim() === "")),
  ),
  /** Anthropic: "final assistant content cannot end with trailing whitespace". */
  trailing_whitespace: only(
    "anthropic",
    "the assistant's text at the end of the list ends in whitespace.",
    (messages) => {
      const last = messages.at(-1);
      const ends = last?.role === "assistant" && /\s$/.test(textsOf(last).at(-1) ?? "");
      return ends ? messages.length - 1 : -1;
    },
  ),
  error_result_with_image: only("anthropic", "the result of a failed call may hold text only.", (messages) =>
    messages.findIndex((message) => message.role === "tool" && message.isError === true && filesOf(message).length > 0),
  ),
  /** A blob is in Heddle's store, which no provider can read. */
  unresolved_file: everywhere("a file is a blob; replace it by base64 or a URL.", (messages) =>
    messages.findIndex((message) => filesOf(message).some(({ data }) => "blob" in data)),
  ),
  /** Only the provider that ran a call can read it. The packages of others turn it into a call without a result. */
  foreign_provider_call: everywhere(
    "a call here was run by another provider; leave it and its result out.",
    (messages, provider) =>
      messages.findIndex((message) =>
        saidBy(message).some(
          (part) => isProviderRun(part) && !(provider !== "openai-chat" && canReadRun(part, OWNERS[provider])),
        ),
      ),
  ),
  invalid_file_url: everywhere("the URL of a file is none.", (messages) =>
    messages.findIndex((message) => filesOf(message).some(({ data }) => "url" in data && !URL.canParse(data.url))),
  ),
} satisfies { [rule: string]: Rule };

const OWNERS = {
  "openai-chat": "openai",
  "openai-responses": "openai",
  anthropic: "anthropic",
  gemini: "google",
} as const satisfies { [provider in ProviderApi]: string };

/** Only assistant messages, because formatters read such calls nowhere else. */
function saidBy(message: Message): readonly Part[] {
  return message.role === "assistant" ? partsIn(message) : [];
}

function partsIn(message: Message): readonly Part[] {
  return typeof message.content === "string" ? [] : message.content;
}

function textParts(message: Message): readonly TextPart[] {
  return partsIn(message).filter((part) => part.type === "text");
}

function filesOf(message: Message): readonly FilePart[] {
  return partsIn(message).filter((part) => part.type === "file");
}

/** The texts that a provider checks. The string content of a result is not checked, but its text parts are. */
function textsOf(message: Message): readonly string[] {
  if (typeof message.content !== "string") return textParts(message).map(({ text }) => text);
  return message.role === "tool" ? [] : [message.content];
}

/** Ignores an empty assistant text with metadata. It is a signature of Gemini, and formatters handle it. */
function hasEmptyText(message: Message): boolean {
  if (message.role === "system") return message.content === "";
  const carriesMore = (part: TextPart): boolean => message.role === "assistant" && part.metadata !== undefined;
  return textParts(message).some((part) => part.text === "" && !carriesMore(part));
}

function isEmpty(message: Message): boolean {
  const hasText =
    message.content !== "" &&
    (typeof message.content === "string" || textParts(message).some(({ text }) => text !== ""));
  switch (message.role) {
    case "user":
      return !hasText && filesOf(message).length === 0;
    case "assistant":
      // Thinking alone is not an answer. Only Gemini accepts files in an assistant message.
      return !hasText && (message.toolCalls ?? []).length === 0;
    case "system":
    case "tool":
      return false; // `empty_text` covers system messages; a tool result may be empty
    default:
      return message satisfies never;
  }
}
