import { v7 } from "uuid";
import { pooled } from "./random.ts";

/** Returns whole milliseconds since 1970. Never read the time directly, because a replay passes its own clock. */
export type Clock = () => number;

/** Returns a new unique id that begins with `prefix` and an underscore, such as `entry_0198c0de-...`. */
export type Ids = (prefix: string) => string;

/** The effects of a thread. The pure layers have no other source of time and randomness. */
export interface Ports {
  readonly clock: Clock;
  readonly ids: Ids;
}

export const systemRandom = pooled((size) => crypto.getRandomValues(new Uint8Array(size)));

export const systemPorts: Ports = {
  clock: () => Date.now(),
  ids: (prefix) => `${prefix}_${v7({ rng: () => systemRandom(16) })}`,
};
