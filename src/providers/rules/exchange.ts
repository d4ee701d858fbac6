import type { Message } from "../../thread/message.ts";
import { callsOf, exchangesOf } from "./exchanges.ts";
import { everywhere, type Rule } from "./rule.ts";

/** Every call has its result, right behind it. */
export const exchangeRules = {
  /** "An assistant message with tool_calls must be followed by tool messages responding to each." */
  missing_result: everywhere("a call of this message has no result.", (messages) => {
    const answered = new Set(messages.map((message) => (message.role === "tool" ? message.toolCallId : undefined)));
    return messages.findIndex((message) => callsOf(message).some(({ id }) => !answered.has(id)));
  }),
  /** "Messages with role tool must be a response to a preceding message with tool_calls." */
  orphan_result: everywhere("no message before this result calls for it.", (messages) => {
    const called = new Set<string>();
    return messages.findIndex((message) => {
      for (const { id } of callsOf(message)) called.add(id);
      return message.role === "tool" && !called.has(message.toolCallId);
    });
  }),
  /** Anthropic: "tool_use ids were found without tool_result blocks immediately after." */
  result_not_adjacent: everywhere("this result is not in the group right behind its call.", (messages) => {
    const adjacent = new Set(exchangesOf(messages).flatMap(({ own }) => own.map(({ index }) => index)));
    const called = new Set(messages.flatMap(callsOf).map(({ id }) => id));
    return messages.findIndex(
      (message, index) =>
        message.role === "tool" && called.has(message.toolCallId) && !adjacent.has(index) && !isRepeat(messages, index),
    );
  }),
  duplicate_call_id: everywhere("another call before has the same id.", (messages) => {
    const seen = new Set<string>();
    return messages.findIndex((message) => callsOf(message).some(({ id }) => seen.size === seen.add(id).size));
  }),
  /** Anthropic: one tool_result for each tool_use. */
  duplicate_result: everywhere("the call has a result already.", (messages) =>
    messages.findIndex((_, index) => isRepeat(messages, index)),
  ),
  /** Gemini pairs results with calls by their order. */
  result_order: everywhere("results must stand in the order of their calls.", (messages) => {
    for (const { calls, own } of exchangesOf(messages)) {
      const places = own.map(({ id }) => calls.findIndex((call) => call.id === id));
      const wrong = places.findIndex((place, at) => place < (places[at - 1] ?? 0));
      if (wrong >= 0) return own[wrong]?.index ?? -1;
    }
    return -1;
  }),
} satisfies { [rule: string]: Rule };

/** Whether a message is a result of a call that has one since it was last made. */
function isRepeat(messages: readonly Message[], index: number): boolean {
  const message = messages[index];
  if (message?.role !== "tool") return false;
  const same = (other: Message): boolean => other.role === "tool" && other.toolCallId === message.toolCallId;
  const before = messages.slice(0, index);
  const called = before.findLastIndex((other) => callsOf(other).some(({ id }) => id === message.toolCallId));
  return called >= 0 && before.slice(called + 1).some(same);
}
