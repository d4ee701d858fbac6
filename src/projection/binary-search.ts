/**
 * Binary search: returns the first index in [from, end) for which `holds` is true, or `end`. `holds` must stay true for
 * all later indices.
 */
export function firstIndex(from: number, end: number, holds: (index: number) => boolean): number {
  let low = from;
  let high = end;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
