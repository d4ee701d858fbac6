import type { Message } from "../../thread/message.ts";
import { callsOf, exchangesOf } from "./exchanges.ts";
import { everywhere, type Rule } from "./rule.ts";

/** Rules about calls and results: every call is followed directly by its result. */
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
    const repeats = repeatsIn(messages);
    return messages.findIndex(
      (message, index) =>
        message.role === "tool" && called.has(message.toolCallId) && !adjacent.has(index) && !repeats.has(index),
    );
  }),
  duplicate_call_id: everywhere("another call before has the same id.", (messages) => {
    const seen = new Set<string>();
    return messages.findIndex((message) => callsOf(message).some(({ id }) => seen.size === seen.add(id).size));
  }),
  /** Anthropic: one tool_result for each tool_use. */
  duplicate_result: everywhere("the call has a result already.", (messages) => {
    const [first = -1] = repeatsIn(messages);
    return first;
  }),
  /** Gemini matches results and calls by order. */
  result_order: everywhere("results must stand in the order of their calls.", (messages) => {
    for (const { calls, own } of exchangesOf(messages)) {
      const placeOf = new Map(calls.map(({ id }, place) => [id, place] as const).reverse()); // the first of equal ids
      const places = own.map(({ id }) => placeOf.get(id) ?? -1);
      const wrong = places.findIndex((place, at) => place < (places[at - 1] ?? 0));
      if (wrong >= 0) return own[wrong]?.index ?? -1;
    }
    return -1;
  }),
} satisfies { [rule: string]: Rule };

/** The repeated results: those whose call already has a result since it was last made. */
function repeatsIn(messages: readonly Message[]): ReadonlySet<number> {
  const repeats = new Set<number>();
  const hasResult = new Map<string, boolean>();
  for (const [index, message] of messages.entries()) {
    for (const { id } of callsOf(message)) hasResult.set(id, false);
    if (message.role !== "tool") continue;
    const { toolCallId: id } = message;
    if (hasResult.get(id) === true) repeats.add(index);
    else if (hasResult.has(id)) hasResult.set(id, true);
  }
  return repeats;
}
