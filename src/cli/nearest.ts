/** The word that the user probably meant: at most one typo for every three letters, or a longer word with this start. */
export function nearest(word: string, words: readonly string[]): string | undefined {
  const most = Math.max(1, Math.floor(word.length / 3));
  const ranked = words
    .map((candidate) => ({ candidate, slips: slipsBetween(word, candidate) }))
    .filter(({ candidate, slips }) => slips <= most || (word.length > 1 && candidate.startsWith(word)))
    .sort((a, b) => a.slips - b.slips);
  return ranked[0]?.candidate;
}

/** The edit distance: letters to insert, delete, change, or swap with a neighbor. */
function slipsBetween(a: string, b: string): number {
  let before: readonly number[] = [];
  let row: readonly number[] = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      const ways = [(row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + same];
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) ways.push((before[j - 2] ?? 0) + 1);
      next.push(Math.min(...ways));
    }
    before = row;
    row = next;
  }
  return row[b.length] ?? 0;
}
