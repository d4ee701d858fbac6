import type { Message } from "heddle";
import { prose } from "../support/text.ts";

/** Every message has this many characters, give or take the names and quotes around an argument. */
const CHARACTERS = 200;
/** Texts come again after so many turns, so that a million messages are not a million texts. */
const TEXTS = 500;

const texts = Array.from({ length: TEXTS * 4 }, (_, index) => prose(`Message ${index}:`, index, CHARACTERS));

/** Message `index` of a conversation of turns of four: an ask, a call, its result, an answer. */
export function messageAt(index: number): Message {
  const turn = Math.floor(index / 4);
  const text = texts[index % texts.length] ?? "";
  const id = `call_${turn}`;
  switch (index % 4) {
    case 0:
      return { role: "user", content: text };
    case 1:
      return { role: "assistant", content: "", toolCalls: [{ id, name: "search", arguments: { query: text } }] };
    case 2:
      return { role: "tool", toolCallId: id, name: "search", content: text };
    default:
      return { role: "assistant", content: text };
  }
}

export function history(count: number): Message[] {
  return Array.from({ length: count }, (_, index) => messageAt(index));
}
