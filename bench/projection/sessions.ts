import type { Message, ToolCall } from "heddle";
import { next, prose } from "../support/text.ts";

/** A long conversation, and where in it the model is asked. */
export interface Session {
  readonly id: string;
  readonly title: string;
  readonly messages: readonly Message[];
}

export interface SessionSizes {
  readonly chatTurns: number;
  readonly loops: number;
  readonly mixedTurns: number;
}

const EXCHANGES = 30;

export function sessions({ chatTurns, loops, mixedTurns }: SessionSizes): Session[] {
  return [
    { id: "chat", title: `chat: ${chatTurns} turns without tools`, messages: chat(chatTurns) },
    {
      id: "loops",
      title: `tool loops: ${loops} asks, each answered after ${EXCHANGES} exchanges with results up to 2 kB`,
      messages: toolLoops(loops),
    },
    {
      id: "mixed",
      title: `mixed: ${mixedTurns} turns of up to 4 exchanges of up to 3 parallel calls`,
      messages: mixed(mixedTurns),
    },
  ];
}

/** How many messages there are each time the model is asked. */
export function asks({ messages }: Session): number[] {
  return messages.flatMap(({ role }, index) => (role === "assistant" ? [index] : []));
}

/** Turns of an ask, a message of parallel calls, their results and an answer. */
export function parallelCalls(turns: number): Message[] {
  const dice = new Dice(7);
  return Array.from({ length: turns }, (_, turn) => [
    ask(dice, 200, 200),
    ...exchange(dice, `${turn}`, 3, 200),
    answer(dice, 200, 200),
  ]).flat();
}

function chat(turns: number): Message[] {
  const dice = new Dice(1);
  return Array.from({ length: turns }, () => [ask(dice, 60, 500), answer(dice, 200, 1600)]).flat();
}

function toolLoops(loops: number): Message[] {
  const dice = new Dice(2);
  return Array.from({ length: loops }, (_, loop) => [
    ask(dice, 200, 600),
    ...Array.from({ length: EXCHANGES }, (__, step) => exchange(dice, `${loop}_${step}`, 1, 2000)).flat(),
    answer(dice, 200, 1600),
  ]).flat();
}

function mixed(turns: number): Message[] {
  const dice = new Dice(3);
  return Array.from({ length: turns }, (_, turn) => {
    const steps = Math.max(0, dice.between(-2, 4));
    return [
      ask(dice, 60, 500),
      ...Array.from({ length: steps }, (__, step) =>
        exchange(dice, `${turn}_${step}`, dice.between(1, 3), 2000),
      ).flat(),
      answer(dice, 200, 1600),
    ];
  }).flat();
}

function ask(dice: Dice, least: number, most: number): Message {
  return { role: "user", content: dice.text("Ask:", least, most) };
}

function answer(dice: Dice, least: number, most: number): Message {
  return { role: "assistant", content: dice.text("Answer:", least, most) };
}

function exchange(dice: Dice, name: string, parallel: number, largest: number): Message[] {
  const toolCalls = Array.from({ length: parallel }, (_, index): ToolCall => {
    return { id: `call_${name}_${index}`, name: "search", arguments: { query: dice.text("Find", 20, 120) } };
  });
  return [
    { role: "assistant", content: "", toolCalls },
    ...toolCalls.map(
      ({ id, name }): Message => ({ role: "tool", toolCallId: id, name, content: dice.text("Found:", 40, largest) }),
    ),
  ];
}

/** The same throws on every machine. */
class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  between(least: number, most: number): number {
    this.#state = next(this.#state);
    return least + Math.floor((this.#state / 2 ** 32) * (most - least + 1));
  }

  text(start: string, least: number, most: number): string {
    const size = this.between(least, most);
    return prose(start, this.#state, size);
  }
}
