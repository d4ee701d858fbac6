/** The words of a line as a shell would read them, with the file that stdin comes from. */
export function wordsOf(line: string): { readonly words: readonly string[]; readonly stdin: string | undefined } {
  const words = [...line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(([, a, b, c]) => a ?? b ?? c ?? "");
  const from = words.indexOf("<");
  return from < 0 ? { words, stdin: undefined } : { words: words.slice(0, from), stdin: words[from + 1] };
}
