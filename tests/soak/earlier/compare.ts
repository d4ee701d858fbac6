import type { JsonValue } from "heddle";
import type { Played } from "./play.ts";

/** A fact of a played story: an entry of its log, or what became of a command. */
export interface Fact {
  readonly text: string;
  readonly value: JsonValue;
}

/** The first facts that are not equal. Both lists begin there. */
interface Divergence {
  readonly earlier: readonly Fact[];
  readonly today: readonly Fact[];
  readonly played: { readonly earlier: Played; readonly today: Played };
}

/** A difference that is intended, or harmless. */
export interface NamedDifference {
  readonly name: string;
  readonly why: string;
  /** A story that shows it. When it does not any more, the difference is gone from the runtime and goes from the list. */
  readonly seed: number;
  /**
   * How many facts of both sides the difference explains. After "rest" the story is not compared any more, because all that
   * follows depends on it. Undefined when this is not the difference.
   */
  readonly explains: (divergence: Divergence) => readonly [earlier: number, today: number] | "rest" | undefined;
}

export interface Compared {
  /** The names of the differences that were found. */
  readonly named: ReadonlySet<string>;
  /** The first facts that no named difference explains. */
  readonly unexplained?: readonly [earlier: string, today: string];
}

/** Compares two plays of one story, fact by fact. */
export function compared(earlier: Played, today: Played, known: readonly NamedDifference[]): Compared {
  const masked = shownErrors(earlier) === shownErrors(today) ? MESSAGES : [...MESSAGES, ...OF_PROMPTS];
  const facts = { earlier: factsOf(earlier, masked), today: factsOf(today, masked) };
  let rest: Divergence = { ...facts, played: { earlier, today } };
  const named = new Set<string>();
  for (;;) {
    const length = Math.max(rest.earlier.length, rest.today.length);
    const equal = rest.earlier.findIndex(({ text }, index) => text !== rest.today[index]?.text);
    const first = equal < 0 ? Math.min(rest.earlier.length, length) : equal;
    rest = { ...rest, earlier: rest.earlier.slice(first), today: rest.today.slice(first) };
    const [{ text: before = "nothing" } = {}] = rest.earlier;
    const [{ text: now = "nothing" } = {}] = rest.today;
    if (rest.earlier.length + rest.today.length === 0) return { named };
    const found = known.find(({ explains }) => explains(rest) !== undefined);
    const explained = found?.explains(rest);
    if (found === undefined || explained === undefined) return { named, unexplained: [before, now] };
    named.add(found.name);
    if (explained === "rest") return { named };
    rest = { ...rest, earlier: rest.earlier.slice(explained[0]), today: rest.today.slice(explained[1]) };
  }
}

/** Messages of failures are for people, and their words change. Codes are compared. The second kind is JSON within a text. */
const MESSAGES: readonly RegExp[] = [/"message":"(?:[^"\\]|\\.)*"/g, /\\"message\\":\\".*?\\"(?=[,}])/g];

/** Facts of a prompt. They depend on the words of the errors that the model is shown. */
const OF_PROMPTS: readonly RegExp[] = [/"fingerprint":"[^"]*",/g, /"estimatedTokens":\d+,/g];

/** The words of the errors of tools, which the model is shown. */
function shownErrors({ log }: Played): string {
  const results = log.filter(({ payload }) => "role" in payload && payload.role === "tool");
  const contents = results.map(({ payload }) => JSON.stringify("content" in payload ? payload.content : ""));
  return [...new Set(contents.filter((content) => content.includes("error")))].sort().join();
}

/** Entries and outcomes without ids and times. An id is replaced by its place among the ids of the log. */
function factsOf({ log, outcomes }: Played, masked: readonly RegExp[]): readonly Fact[] {
  const places = new Map<string, number>();
  const place = (id: string) => {
    places.set(id, places.get(id) ?? places.size);
    return places.get(id);
  };
  const withoutIds = (text: string) =>
    text.replaceAll(/([a-z]+)_q(\d+)q/g, (_, prefix, id) => `${prefix}#${place(id)}`);
  const compared = (text: string) => masked.reduce((left, pattern) => left.replaceAll(pattern, ""), withoutIds(text));
  const entries = log.map(({ id: _id, seq: _seq, at: _at, ...entry }) => JSON.stringify(entry));
  const answers = [...outcomes].map(([name, outcome]) => JSON.stringify({ command: name, outcome }));
  const values = [...entries, ...answers].map((text) => JSON.parse(withoutIds(text)) as JsonValue); // as it was made above
  return [...entries, ...answers].map((text, index) => ({ text: compared(text), value: values[index] ?? null }));
}
