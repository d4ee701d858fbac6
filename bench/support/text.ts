const WORDS = "the thread is what happened and the context is what we show the model of it when it is asked".split(" ");

/** A plain linear congruential generator: the same numbers on every machine. */
export function next(state: number): number {
  return (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
}

/** ASCII prose of exactly this many characters that begins with `start`, the same on every machine. */
export function prose(start: string, seed: number, size: number): string {
  let text = start;
  for (let state = seed; text.length < size; ) {
    state = next(state);
    text += ` ${WORDS[(state >>> 8) % WORDS.length]}`;
  }
  return `${text.slice(0, size - 1)}.`;
}
