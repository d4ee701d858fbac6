import { readFileSync, writeFileSync } from "node:fs";
import { HeddleError, type ThreadStore } from "heddle";
import { sqliteStore } from "heddle/sqlite";
import { everythingIn, feedSoFar, type Names } from "../../support/everything.ts";
import { report } from "../../support/report.ts";
import { countingPorts, writeSample } from "../../support/sample.ts";
import { type Random, seeded } from "../../support/seeded.ts";
import { fastFile } from "../../support/temp-folder.ts";

/** How a flipped bit ended: who saw it, or that it changed nothing for any reader. */
type Ending = "seen on opening" | "seen on reading" | "seen by verify" | "harmless" | "silent";

interface Original {
  readonly path: string;
  readonly bytes: Buffer;
  readonly names: Names;
  readonly threadIds: readonly string[];
  readonly everything: string;
  /** A position in the feed, which a reader kept. */
  readonly cursor: string;
}

/**
 * Flips single bits of a closed file. Compared is all that a reader can get: lists in every order, threads, tails,
 * checkpoints, blobs, the feed with its cursors, commands and outcomes. Not compared are claims, which guard appends and are not read, and of
 * course pages that are free.
 */
export async function flipBits({ flips, round = 0 }: { flips: number; round?: number }): Promise<readonly string[]> {
  const random = seeded(round);
  const original = await write();
  const count: Record<Ending, number> = {
    "seen on opening": 0,
    "seen on reading": 0,
    "seen by verify": 0,
    harmless: 0,
    silent: 0,
  };
  const silent: string[] = [];
  for (let n = 0; n < flips; n++) {
    const [offset, bit] = [placeIn(original.bytes, random), random.below(8)];
    const ending = await flip(original, offset, bit);
    count[ending]++;
    if (ending === "silent") silent.push(`bit ${bit} of byte ${offset} (page ${1 + Math.floor(offset / PAGE)})`);
  }
  report({ seed: random.seed, flips, ...count, bytes: original.bytes.length });
  return silent;
}

const PAGE = 4096;

/** Anywhere; every other time where pages keep their structure, or in the first page, which has the schema. */
function placeIn(bytes: Buffer, random: Random): number {
  if (random.oneIn(2)) return random.below(bytes.length);
  if (random.oneIn(3)) return random.below(PAGE);
  return random.below(bytes.length / PAGE) * PAGE + random.below(64);
}

async function write(): Promise<Original> {
  const path = fastFile();
  const store = sqliteStore(path, countingPorts());
  const names = await writeSample(store);
  await writeCommands(store);
  const everything = await read(store, names);
  const { threads } = await store.list();
  const cursor = (await feedSoFar(store)).at(-2)?.cursor ?? "";
  await store.close();
  return { path, bytes: readFileSync(path), names, threadIds: threads.map(({ id }) => id), everything, cursor };
}

/** All of it as text. An entry without a version has the first one, to readers as to its hash: it does not matter which is there. */
async function read(store: ThreadStore, names: Names): Promise<string> {
  const inboxes = [await store.pending(INBOX), await Promise.all(SETTLED.map((id) => store.outcome(INBOX, id)))];
  return JSON.stringify([await everythingIn(store, names), inboxes]).replaceAll('"v":1,', "");
}

const INBOX = "thread with commands";
const SETTLED = ["c0", "c3", "c6"];

/** Commands that wait, that were amended, and that have outcomes. */
async function writeCommands(store: ThreadStore): Promise<void> {
  for (let n = 0; n < 8; n++) await store.post(INBOX, { id: `c${n}`, type: "steer", text: `${n}`.repeat(200) });
  await store.amend(INBOX, "c1", { text: "another" });
  await store.append(INBOX, [], { consumes: SETTLED.map((id) => ({ id, outcome: { status: "done", id } })) });
}

async function flip(original: Original, offset: number, bit: number): Promise<Ending> {
  const { path, bytes } = original;
  const damaged = Buffer.from(bytes);
  damaged[offset] = (damaged[offset] ?? 0) ^ (1 << bit);
  writeFileSync(path, damaged);
  let store: ThreadStore;
  try {
    store = sqliteStore(path);
  } catch (error) {
    return ours(error, "seen on opening");
  }
  try {
    return await look(store, original);
  } finally {
    await store.close();
  }
}

async function look(store: ThreadStore, { names, threadIds, everything, cursor }: Original): Promise<Ending> {
  let found: string;
  try {
    found = await read(store, names);
    // Another epoch of the feed is an error for each reader that has a cursor, and nothing to the others.
    await feedSoFar(store, cursor);
  } catch (error) {
    return ours(error, "seen on reading");
  }
  if (found === everything) return "harmless";
  for (const id of threadIds) {
    try {
      if (!(await store.verify(id)).ok) return "seen by verify";
    } catch (error) {
      return ours(error, "seen by verify");
    }
  }
  return "silent";
}

/** Damage must come out as an error of ours. */
function ours(error: unknown, ending: Ending): Ending {
  if (HeddleError.isInstance(error)) return ending;
  throw error;
}
