import type { Random } from "../random.ts";

const UNKNOWN = "teleport";

/** Generates tool calls. Every call has a unique number, so that its runs can be counted. */
export class ScriptedCalls {
  readonly #names: readonly [string, ...string[]];
  #made = 0;

  constructor(names: readonly [string, ...string[]]) {
    this.#names = names;
  }

  /** One to four parallel calls. Ids may be missing and mostly repeat in every answer, as with many servers. */
  some(random: Random): readonly object[] {
    const count = random.pick([1, 1, 2, 2, 3, 4]);
    const own = random.oneIn(3);
    return random.list(count, (index) => {
      const serial = this.#made++;
      const toolCallId = own ? `c${serial}` : random.oneIn(20) ? "" : `call_${index}`;
      const toolName = random.oneIn(20) ? UNKNOWN : random.pick(this.#names);
      return { type: "tool-call", toolCallId, toolName, input: input(random, serial) };
    });
  }
}

function input(random: Random, serial: number): string {
  if (!random.oneIn(12)) return JSON.stringify({ serial });
  return random.pick(['{"serial":', "[1]", '{"serial":"no number"}', "", '"text"']);
}
