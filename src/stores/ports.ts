import { type Ports, systemPorts, systemRandom } from "../thread/ports.ts";
import type { Random } from "../thread/random.ts";
import { portableSha256, type Sha256 } from "../thread/sha256.ts";
import { checkOptions } from "./options.ts";

/** What a store may be given instead of the system's own; all of it optional. */
export interface StorePorts extends Ports {
  readonly random: Random;
  readonly sha256: Sha256;
  /** How often watchers look for what other processes wrote. */
  readonly pollMs: number;
  /** The largest payload of one entry, as JSON text. */
  readonly maxEntryChars: number;
}

export type StoreOptions = { readonly [Name in keyof StorePorts]?: StorePorts[Name] | undefined };

/** The system's own. */
const DEFAULTS: StorePorts = {
  ...systemPorts,
  random: systemRandom,
  sha256: portableSha256,
  pollMs: 100,
  maxEntryChars: 64 * 1024 * 1024,
};

export const STORE_OPTIONS = Object.keys(DEFAULTS) as readonly (keyof StorePorts)[]; // of an object of that type

/** Options, checked, with the system's own for what is not given. */
export function completePorts(options: StoreOptions): StorePorts {
  const given = Object.entries(checkOptions(options, STORE_OPTIONS)).filter(([, value]) => value !== undefined);
  return { ...DEFAULTS, ...Object.fromEntries(given) };
}
