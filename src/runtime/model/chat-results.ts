import type { ProviderModel } from "../../agent/definition/language-model.ts";
import { familyOf } from "../../providers/files.ts";
import { partsOf } from "../../providers/message-parts.ts";
import {
  type FileContentPart,
  fileNote,
  groupAdjacent,
  type Message,
  type Part,
  type ToolMessage,
} from "../../thread/message.ts";

/** Chat APIs whose packages refuse an image from the user. */
const BLIND = /^(cohere|deepseek)\b/;

/**
 * Chat APIs take results as text, and their packages write the bytes of an image into it as JSON: dear, and nobody sees
 * it. So a result becomes its text, and its images follow as the user's, behind all results of the exchange.
 */
export function withChatResults({ provider }: Pick<ProviderModel, "provider">, messages: readonly Message[]) {
  if (!isChat({ provider }) || !messages.some(hasParts)) return messages;
  const shows = (part: Part): part is FileContentPart =>
    part.type === "file" && familyOf(part) === "image" && !BLIND.test(provider);
  return groupAdjacent(messages, (a, b) => a.role === "tool" && b.role === "tool").flatMap(
    (group): readonly Message[] => {
      if (!group.some(hasParts)) return group;
      const images = group.flatMap((message) =>
        message.role === "tool" && message.isError !== true ? partsOf(message.content).filter(shows) : [],
      );
      const results = group.map((message) => (message.role === "tool" ? asText(message, shows) : message));
      return images.length === 0 ? results : [...results, { role: "user", content: images }];
    },
  );
}

/** Whether the model is behind a Chat Completions API. */
export function isChat({ provider }: Pick<ProviderModel, "provider">): boolean {
  return /\.chat$/.test(provider);
}

function hasParts(message: Message): message is ToolMessage {
  return message.role === "tool" && typeof message.content !== "string";
}

function asText(message: ToolMessage, shows: (part: Part) => boolean): ToolMessage {
  if (message.isError === true) return message; // its files are notes already
  const content = partsOf(message.content).flatMap((part): readonly string[] => {
    if (part.type === "text") return [part.text];
    if (part.type !== "file") return [];
    return [shows(part) ? `[${part.mediaType}: see the message behind the results]` : fileNote(part)];
  });
  return { ...message, content: content.join("\n") };
}
