import { portableSha256, type Sha256, utf8Length } from "../thread/encoding.ts";
import { isPlainObject } from "../thread/json.ts";
import { type Ports, type Random, systemPorts, systemRandom } from "../thread/ports.ts";
import { StoreError } from "./errors.ts";

/** Dependencies of a store that a caller may replace. */
export interface StorePorts extends Ports {
  /** Default: the random bytes of the platform (`crypto.getRandomValues`). */
  readonly random: Random;
  /** Default: SHA-256 in JavaScript; the SQLite and Postgres stores use Node's. */
  readonly sha256: Sha256;
  /** How often watchers look for rows of other processes, in milliseconds. Default 100. */
  readonly pollMs: number;
  /** The largest payload of one entry, in characters of JSON text. Default 67,108,864 (64 Mi). */
  readonly maxEntryChars: number;
  /** How long the outcomes of commands are kept, in milliseconds. Default 604,800,000 (7 days). */
  readonly keepOutcomesMs: number;
  /** How long a blob is kept after the last thread that used it was deleted, in milliseconds. Default 86,400,000 (1 day). */
  readonly keepBlobsMs: number;
}

/** Options of every store. Each has the default that `StorePorts` states. */
export type StoreOptions = { readonly [Name in keyof StorePorts]?: StorePorts[Name] | undefined };

const DEFAULTS: StorePorts = {
  ...systemPorts,
  random: systemRandom,
  sha256: portableSha256,
  pollMs: 100,
  maxEntryChars: 64 * 1024 * 1024,
  keepOutcomesMs: 7 * 24 * 60 * 60 * 1000,
  keepBlobsMs: 24 * 60 * 60 * 1000,
};

export const STORE_OPTIONS = Object.keys(DEFAULTS) as readonly (keyof StorePorts)[]; // DEFAULTS has exactly these keys

/** Checks the options and fills in the defaults. */
export function completePorts(options: StoreOptions): StorePorts {
  const given = Object.entries(checkOptions(options, STORE_OPTIONS)).filter(([, value]) => value !== undefined);
  const ports: StorePorts = { ...DEFAULTS, ...Object.fromEntries(given) };
  for (const name of ["pollMs", "maxEntryChars", "keepOutcomesMs", "keepBlobsMs"] as const) checkSeq(name, ports[name]);
  return ports;
}

export function invalidOption(what: string, rule: string): StoreError {
  return new StoreError({ code: "invalid_options", message: `${what} must be ${rule}.` });
}

export function checkCallback(what: string, value: unknown): void {
  if (value !== undefined && typeof value !== "function") throw invalidOption(what, "a function");
}

export function checkSeq(what: string, value: unknown): void {
  if (value !== undefined && !(Number.isSafeInteger(value) && Number(value) >= 0))
    throw invalidOption(what, "a whole number from 0");
}

export function checkTtl(ttlMs: unknown): asserts ttlMs is number {
  if (!(Number.isSafeInteger(ttlMs) && Number(ttlMs) > 0)) throw invalidOption("ttlMs", "a whole number above 0");
}

/** The error for a cursor that no feed has given. */
export function invalidCursor(): StoreError {
  return invalidOption("after", "the cursor of a feed item");
}

/** The position that a feed cursor names, for stores that number all rows. */
export function feedPosition(cursor: string): number {
  if (!/^\d{1,15}$/.test(cursor)) throw invalidCursor();
  return Number(cursor);
}

/** A copy of the options. Rejects non-objects and unknown keys, so that a typo cannot disable a check. */
export function checkOptions<Options extends object>(
  options: Options,
  names: readonly (keyof Options & string)[],
): Options {
  if (!isPlainObject(options)) throw invalidOption("The options", "a plain object");
  const known: readonly string[] = names;
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown === undefined) return { ...options };
  const advice = known.length === 0 ? "There are none here" : `Options here are ${known.join(", ")}`;
  throw new StoreError({ code: "invalid_options", message: `There is no option ${unknown}. ${advice}.` });
}

/** How far the upgrade of a database is. It happens once, when a newer version of Heddle opens the database. */
export interface UpgradeProgress {
  /** The schema before the upgrade. */
  readonly from: number;
  /** The schema after the upgrade. */
  readonly to: number;
  /** The number of entries of all tenants. Postgres estimates it. */
  readonly entries: number;
  /** The number of steps that are done, `steps` at the end. Postgres also counts a part of the step that runs. */
  readonly done: number;
  readonly steps: number;
}

/** Gets the progress of an upgrade: at the start, at least after each long step, and at the end. Its errors are ignored. */
export type OnUpgrade = (progress: UpgradeProgress) => void;

export function reportUpgrade(onUpgrade: OnUpgrade | undefined, progress: UpgradeProgress): void {
  try {
    onUpgrade?.(progress);
  } catch {} // a report that fails must not stop an upgrade
}

/** The steps of migrations. In their SQL text, a blank line separates two steps. */
export function stepsOf(migrations: readonly string[]): readonly string[] {
  return migrations.flatMap((ddl) => ddl.trim().split("\n\n"));
}

/** The error of a call that cannot wait for the upgrade by this process or another. */
export function upgradeRuns(progress: string, cause?: unknown): StoreError {
  const message = `The database is being upgraded for this version of Heddle${progress}. Try again when the upgrade is done.`;
  return new StoreError({ code: "store_busy", retryable: true, message, cause });
}

/** The most that the other columns of a row take: ids, names and hashes. */
const OTHER_COLUMNS = 8_192;
/** No character of a text has more bytes. */
const MOST_BYTES = 3;

/** Refuses content that no row of this driver can hold. */
export function checkRowSize(
  { maxRowBytes }: { readonly maxRowBytes?: number | undefined },
  what: string,
  ...contents: readonly (string | Uint8Array)[]
): void {
  if (maxRowBytes === undefined) return;
  const limit = maxRowBytes - OTHER_COLUMNS;
  const most = contents.reduce((sum, content) => sum + content.length * MOST_BYTES, 0);
  if (most <= limit) return;
  const size = contents.reduce((sum, content) => sum + bytesOf(content), 0);
  if (size <= limit) return;
  const message = `${what} has ${size} bytes; this database has rows of at most ${limit}. Store large content elsewhere and append a reference to it.`;
  throw new StoreError({ code: "too_large", message });
}

function bytesOf(content: string | Uint8Array): number {
  return typeof content === "string" ? utf8Length(content) : content.byteLength;
}
