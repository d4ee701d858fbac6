import { v7 } from "uuid";

/** Returns whole milliseconds since 1970. Never read the time directly, because a replay passes its own clock. */
export type Clock = () => number;

/** Returns a new unique id that begins with `prefix` and an underscore, such as `entry_0198c0de-...`. */
export type Ids = (prefix: string) => string;

/** The effects of a thread. The pure layers have no other source of time and randomness. */
export interface Ports {
  /** Default: the time of the system. */
  readonly clock: Clock;
  /** Default: a UUID version 7 behind the prefix. */
  readonly ids: Ids;
}

/** Returns new random bytes. They are valid until the next call. */
export type Random = (size: number) => Uint8Array;

const POOL = 4096;

export const systemRandom = pooled((size) => crypto.getRandomValues(new Uint8Array(size)));

const UUID_OPTIONS = { rng: () => systemRandom(16) };

/** The system clock, and UUIDs of version 7. */
export const systemPorts: Ports = {
  clock: () => Date.now(),
  ids: (prefix) => `${prefix}_${v7(UUID_OPTIONS)}`,
};

/** Reads from the source in large blocks, because a system call for every id and salt would be slow. */
function pooled(draw: Random): Random {
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
