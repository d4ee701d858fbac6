import { countMessage, heuristic, type Message } from "heddle";

/** What a message costs by the one counter that all lists are compared with. */
export function tokensOfOne(message: Message): number {
  return countMessage(message, heuristic);
}

export function tokensOf(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + tokensOfOne(message), 0);
}
