/**
 * Claims a thread with a lease that it does not renew, and appends when its standard input says so: the same entry each time.
 * With a file, it waits in the COMMIT of that append until the file exists. Argument: a LeasedJob.
 */
import { existsSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { LeaseEndedError } from "../../../src/stores/errors.ts";
import { sqliteDatabase } from "../../../src/stores/sqlite/sqlite-store.ts";
import { HeddleError } from "../../../src/thread/errors.ts";
import { recording } from "../../stores/sqlite/support/recording.ts";
import { openDatabaseAt } from "../../support/open-at.ts";

export interface LeasedJob {
  readonly url: string;
  readonly tenant: string;
  readonly threadId: string;
  readonly ttlMs: number;
  readonly commitsAfter?: string;
}

const { url, tenant, threadId, ttlMs, commitsAfter } = JSON.parse(process.argv[2] ?? "") as LeasedJob;
const sql = recording();
const isSqlite = url.startsWith("sqlite:");
const database = isSqlite ? sqliteDatabase(url.slice("sqlite:".length), { connect: sql.connect }) : openDatabaseAt(url);
const store = database.tenant(tenant);
const epoch = await claimed();
for (const id of ["first", "second"]) await store.append(threadId, { id, kind: "note" }, { epoch }); // statements are prepared
tell({ epoch });

// What is queued for the server is written at the end of a turn of the event loop.
process.on("SIGUSR2", () => setImmediate(() => setImmediate(() => tell({ at: "everything is sent" }))));

for await (const _ of createInterface({ input: process.stdin })) {
  sql.before = pauseAt;
  try {
    const { rev, replayed } = await store.append(threadId, { id: "mine", kind: "note" }, { epoch });
    tell({ rev, replayed });
  } catch (error) {
    if (!HeddleError.isInstance(error)) throw error;
    tell({ code: error.code });
  }
}

/** On a busy machine a short lease may be over before its first claim. */
async function claimed(): Promise<number> {
  const lease = await database.leases.start({ node: "frozen", ttlMs });
  try {
    return (await store.claim(threadId, { holder: "frozen", lease })).epoch;
  } catch (error) {
    if (!LeaseEndedError.isInstance(error)) throw error;
    return claimed();
  }
}

/** The append is in flight from its first BEGIN on. */
function pauseAt(statement: string): void {
  if (statement === "BEGIN IMMEDIATE") tell({ at: statement });
  if (statement !== "COMMIT" || commitsAfter === undefined) return;
  tell({ at: statement });
  const pause = new Int32Array(new SharedArrayBuffer(4));
  while (!existsSync(commitsAfter)) Atomics.wait(pause, 0, 0, 5);
}

function tell(line: object): void {
  writeSync(1, `${JSON.stringify(line)}\n`);
}
