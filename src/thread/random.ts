/** Returns new random bytes. They are valid until the next call. */
export type Random = (size: number) => Uint8Array;

const POOL = 4096;

/** Reads from the source in large blocks, because a system call for every id and salt would be slow. */
export function pooled(draw: Random): Random {
  let pool: Uint8Array = new Uint8Array(0);
  let used = 0;
  return (size) => {
    if (used + size > pool.length) {
      pool = draw(Math.max(POOL, size));
      used = 0;
    }
    used += size;
    return pool.subarray(used - size, used);
  };
}
