import type { Message } from "../../thread/message.ts";
import { everywhere, only, type Rule } from "./rule.ts";

/** Rules about the order of roles. */
export const orderRules = {
  /** "At least one message is required". System messages do not count. */
  empty_list: everywhere("a conversation needs a message besides system messages.", (messages) =>
    firstSpoken(messages) < 0 ? 0 : -1,
  ),
  /** Anthropic and Gemini do not accept system messages in the list. */
  system_not_first: everywhere("a system message must stand before all others.", (messages) => {
    const first = firstSpoken(messages);
    return messages.findIndex(({ role }, index) => role === "system" && first >= 0 && index > first);
  }),
  /** Anthropic requires it, and Gemini requires a user message before the first call. */
  first_not_user: everywhere("the first message after the system messages must be the user's.", (messages) => {
    const first = firstSpoken(messages);
    return messages[first]?.role === "user" ? -1 : first;
  }),
  /** Newer Claude models and Gemini refuse it. OpenAI would answer its own answer. */
  trailing_assistant: everywhere("the last message must be the user's or a tool's.", (messages) =>
    messages.at(-1)?.role === "assistant" ? messages.length - 1 : -1,
  ),
  /** "Function call turn must come immediately after a user turn or after a function response turn." */
  misplaced_call: only("gemini", "a message with calls must not follow another assistant message.", (messages) =>
    messages.findIndex((message, index) => hasCalls(message) && messages[index - 1]?.role === "assistant"),
  ),
} satisfies { [rule: string]: Rule };

function firstSpoken(messages: readonly Message[]): number {
  return messages.findIndex(({ role }) => role !== "system");
}

function hasCalls(message: Message): boolean {
  return message.role === "assistant" && (message.toolCalls ?? []).length > 0;
}
