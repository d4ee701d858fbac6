import { type Ports, systemPorts, systemRandom } from "../thread/ports.ts";
import type { Random } from "../thread/random.ts";
import { portableSha256, type Sha256 } from "../thread/sha256.ts";
import { checkOptions } from "./options.ts";

/** Dependencies of a store that a caller may replace. */
export interface StorePorts extends Ports {
  readonly random: Random;
  readonly sha256: Sha256;
  /** How often watchers look for rows of other processes, in milliseconds. Default 100. */
  readonly pollMs: number;
  /** The largest payload of one entry, in characters of JSON text. Default 67,108,864 (64 Mi). */
  readonly maxEntryChars: number;
}

export type StoreOptions = { readonly [Name in keyof StorePorts]?: StorePorts[Name] | undefined };

const DEFAULTS: StorePorts = {
  ...systemPorts,
  random: systemRandom,
  sha256: portableSha256,
  pollMs: 100,
  maxEntryChars: 64 * 1024 * 1024,
};

export const STORE_OPTIONS = Object.keys(DEFAULTS) as readonly (keyof StorePorts)[]; // DEFAULTS has exactly these keys

/** Checks the options and fills in the defaults. */
export function completePorts(options: StoreOptions): StorePorts {
  const given = Object.entries(checkOptions(options, STORE_OPTIONS)).filter(([, value]) => value !== undefined);
  return { ...DEFAULTS, ...Object.fromEntries(given) };
}
