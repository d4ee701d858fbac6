import { v7 } from "uuid";
import { pooled } from "./random.ts";

/** Milliseconds since 1970, whole. Ask for it, never read the time directly: a replay passes its own. */
export type Clock = () => number;

/** A fresh unique id that begins with `prefix` and an underscore, such as `entry_0198c0de-...`. */
export type Ids = (prefix: string) => string;

/** What a thread needs from the world; the only room for chance in the pure floors. */
export interface Ports {
  readonly clock: Clock;
  readonly ids: Ids;
}

export const systemRandom = pooled((size) => crypto.getRandomValues(new Uint8Array(size)));

export const systemPorts: Ports = {
  clock: () => Date.now(),
  ids: (prefix) => `${prefix}_${v7({ rng: () => systemRandom(16) })}`,
};
