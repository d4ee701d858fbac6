/** Changes only A to Z to lower case, because every database can do that. */
export function lowerAscii(text: string): string {
  return /^[\0-\x7f]*$/.test(text) ? text.toLowerCase() : text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** Escapes a text as JSON does, so that a search for `say "hi"` finds it in JSON text. */
export function asJsonText(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** Whether a JSON text contains the text, which must be in lower case and escaped as in JSON text. */
export function containsText(json: string | null, search: string): boolean {
  return lowerAscii(json ?? "").includes(search);
}
