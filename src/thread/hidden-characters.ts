/** Invisible characters and those that reorder text: format and default-ignorable characters, C1 controls. */
const HIDDEN = /[\p{Cf}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\u007f-\u009f]/gu;

/**
 * Escapes hidden and reordering characters, as in `\u202e`, so that a person reads what will run. Use it where a person
 * decides on arguments. JSON stays JSON of the same value.
 *
 * @example
 * escapeHidden("rm \u202etxt.a"); // rm \u202etxt.a
 */
export function escapeHidden(text: string): string {
  return text.replaceAll(HIDDEN, (character) =>
    Array.from({ length: character.length }, (_, at) => unitOf(character.charCodeAt(at))).join(""),
  );
}

function unitOf(code: number): string {
  return `\\u${code.toString(16).padStart(4, "0")}`;
}
