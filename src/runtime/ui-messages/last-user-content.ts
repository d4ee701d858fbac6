import { ThreadError } from "../../thread/errors.ts";
import { copyJsonRepaired, isPlainObject, readSafely } from "../../thread/json.ts";
import type { Content } from "../../thread/message.ts";
import { Field } from "../../thread/messages/field.ts";
import { toContent } from "../../thread/messages/neutral-message.ts";
import { readPart } from "../../thread/messages/read.ts";
import type { UIMessageLike } from "./message.ts";

/**
 * What the user said last: the text and the files of the last user message, for `ask`. The server has the history, so nothing
 * else of what a browser sends is looked at, nor its options for providers.
 *
 * @example
 * const messages = [{ id: "1", role: "user", parts: [{ type: "text", text: "What's 2+2?" }] }];
 * console.log(lastUserContent(messages)); // What's 2+2?
 */
export function lastUserContent(messages: readonly UIMessageLike[]): Content {
  const list = Array.isArray(messages) ? messages : [];
  const index = list.findLastIndex((message: unknown) => isPlainObject(message) && message["role"] === "user");
  if (index < 0) {
    const message = "messages has no message of the user. Send what useChat sends, with the user's message in it.";
    throw new ThreadError({ code: "invalid_message", path: "messages", message });
  }
  const path = `messages[${index}]`;
  const copy = readSafely(path, "invalid_message", () => copyJsonRepaired(list[index], path)); // checked here
  const parts = new Field(copy, path).at("parts").list.flatMap((part) => {
    if (part.type !== "text" && part.type !== "file") return [];
    const { providerMetadata: _ofBrowser, ...own } = part.object;
    return readPart(new Field(own, part.path)) ?? [];
  });
  return toContent(parts);
}
