import { heuristic, type Message } from "heddle";
import { countMessage } from "heddle/core";

/** The tokens of a message, by the counter that is used for all lists. */
export function tokensOfOne(message: Message): number {
  return countMessage(message, heuristic);
}

export function tokensOf(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + tokensOfOne(message), 0);
}
