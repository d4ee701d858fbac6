import { prose } from "../support/text.ts";

// The texts of the conversations of the bench, the same for every contender.

/** Long enough that 200 turns are about four times the window of the policy. */
const ASK_CHARACTERS = 200;
const ANSWER_CHARACTERS = 400;

const ASKS = Array.from({ length: 200 }, (_, turn) => prose(`Ask ${turn}:`, turn, ASK_CHARACTERS));

/** Made in advance, so that making it is not measured. */
export const ANSWER = prose("Answer:", 7, ANSWER_CHARACTERS);

export const SYSTEM_PROMPT = "You are an agent that is measured. Answer at once.";

export const POLICY = { maxInputTokens: 8000, reserveOutputTokens: 2000 } as const;

export function askOf(turn: number): string {
  return ASKS[turn % ASKS.length] ?? "";
}

/** The one tool: it answers at once, too. */
export const TOOL = {
  name: "weather",
  description: "The weather of a city",
  inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  input: { city: "Turin" },
  output: "18 degrees in Turin",
} as const;

/** The entries of a request: ask and answer, and between them the call and its result. */
export function entriesOf(usesTool: boolean): number {
  return usesTool ? 4 : 2;
}

/** Messages of a turn, as every project counts them. */
export function messagesOf(usesTool: boolean): number {
  return usesTool ? 4 : 2;
}
