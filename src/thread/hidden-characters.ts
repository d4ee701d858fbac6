/**
 * Invisible characters and those that reorder text: format and default-ignorable characters, line separators, controls but
 * tab and the newlines, and halves of a surrogate pair. A carriage return alone moves a terminal to the start of its line.
 */
export const HIDDEN = /(?![\t\n\r])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]|\r(?!\n)/gu;

/** Joiners and variation selectors. */
const JOINERS = ["\u200c", "\u200d", "\ufe0e", "\ufe0f"];
/** A letter, a digit or an emoji, which may be followed by a joiner, as in family emojis and in Persian. */
const JOINED = /[\p{L}\p{M}\p{Nd}\p{Extended_Pictographic}\p{Emoji_Modifier}#*]\ufe0f?$/u;

/**
 * Escapes hidden and reordering characters, as in `\u202e`, so that a person reads what will run. Use it where a person
 * decides on arguments. JSON stays JSON of the same value.
 *
 * @example
 * escapeHidden("rm \u202etxt.a"); // rm \u202etxt.a
 */
export function escapeHidden(text: string): string {
  return text.replaceAll(HIDDEN, escaped);
}

/**
 * The same for text to read: joiners stay where scripts and emojis need them. `before` is the text in front of it, whose
 * last character may be joined.
 */
export function visibleText(text: string, before = ""): string {
  return text.replaceAll(HIDDEN, (character, at: number) => {
    if (!JOINERS.includes(character)) return escaped(character);
    const front = `${before}${text.slice(Math.max(0, at - 3), at)}`;
    return JOINED.test(front.slice(-3).toWellFormed()) ? character : escaped(character);
  });
}

function escaped(character: string): string {
  return Array.from({ length: character.length }, (_, at) => unitOf(character.charCodeAt(at))).join("");
}

function unitOf(code: number): string {
  return `\\u${code.toString(16).padStart(4, "0")}`;
}
