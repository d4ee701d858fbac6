/** Longer words are no typos of a name, and comparing them would take long. */
const MAX_LENGTH = 64;

/**
 * Returns the name that the caller probably meant, in any case of letters. It has at most one typo for every three
 * letters, starts with the given word, or ends with it: `requestId` for `id`.
 */
export function nearest(given: string, names: readonly string[]): string | undefined {
  if (given.length > MAX_LENGTH) return undefined;
  const word = given.toLowerCase();
  const most = Math.max(1, Math.floor(word.length / 3));
  const ranked = names
    .map((name) => ({ name, slips: slipsBetween(word, name.toLowerCase()) }))
    .filter(({ name, slips }) => slips <= most || isPart(word, name))
    .sort((a, b) => a.slips - b.slips);
  return ranked[0]?.name;
}

function isPart(word: string, name: string): boolean {
  const last = word.charAt(0).toUpperCase() + word.slice(1);
  return (word.length > 2 && name.toLowerCase().startsWith(word)) || (word.length > 1 && name.endsWith(last));
}

/** Returns the edit distance of two words: how many letters to insert, delete, change, or swap with a neighbor. */
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

/** Names for an error message: the one that was probably meant, and all there are. */
export function knownNames(given: string, names: readonly string[]): string {
  const meant = nearest(given, names);
  return `${meant === undefined ? "" : `Did you mean ${meant}? `}It has: ${names.join(", ")}.`;
}
