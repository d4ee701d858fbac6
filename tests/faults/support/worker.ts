import { writeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { TakenThread } from "../../../src/stores/runnable.ts";
import { HeddleError } from "../../../src/thread/errors.ts";
import { openDatabaseAt } from "../../support/open-at.ts";

/** How long the lease of a worker lasts, in milliseconds. */
const TTL_MS = 400;

/** The codes that a worker gets when it slept too long. */
const LATE = new Set(["lease_ended", "stale_holder", "entry_id_reused", "command_settled"]);

const [url = "", name = "", agent = ""] = process.argv.slice(2);
const database = openDatabaseAt(url);
let lease = await database.leases.start({ node: name, ttlMs: TTL_MS });

setInterval(() => void renew(), TTL_MS / 4);

async function renew(): Promise<void> {
  try {
    await database.leases.renew(lease);
  } catch (error) {
    if (!isLate(error)) throw error;
    lease = await database.leases.start({ node: name, ttlMs: TTL_MS });
  }
}

writeSync(1, "started\n");
for (;;) {
  const taken = await database.runnable.take({ lease, agents: [agent], limit: 2 }).catch(nothingIfLate);
  if (taken === undefined || taken.length === 0) await sleep(5);
  else await Promise.all(taken.map((thread) => work(thread).catch(nothingIfLate)));
}

/** Two appends for each command, so that a stop can come between them. */
async function work({ tenant, threadId, epoch }: TakenThread): Promise<void> {
  const store = database.tenant(tenant);
  for (const { id, revision } of await store.pending(threadId)) {
    const payload = { by: name, epoch };
    await store.append(threadId, { kind: "note", payload }, { epoch, next: { agent } });
    const consumes = [{ id, revision, outcome: { status: "done", by: name, epoch } }];
    await store.append(threadId, { id: `${id}/0`, kind: "note", payload }, { epoch, consumes, next: null });
    writeSync(1, `${id}\n`);
  }
  await store.append(threadId, [], { epoch, next: null });
  await store.release(threadId, epoch);
}

function nothingIfLate(error: unknown): undefined {
  if (!isLate(error)) throw error;
}

function isLate(error: unknown): boolean {
  return HeddleError.isInstance(error) && (error.retryable || LATE.has(error.code));
}
