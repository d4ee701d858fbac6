/**
 * A node that does everything a store offers, one random step after the other, until it is killed. It writes a line before a
 * step and one when it is acknowledged, synchronously. Argument: a NodeJob.
 */
import { writeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Lease } from "../../../src/stores/lease.ts";
import { note } from "../../../src/testing/builders.ts";
import { Random } from "../../../src/testing/random.ts";
import { openDatabaseAt } from "../../support/open-at.ts";
import { answerCommands, BASES, isLate, type NodeLine, type NodeStep, perform } from "./node-step.ts";

export interface NodeJob {
  readonly url: string;
  readonly tenant: string;
  /** Also the agent of its threads. */
  readonly run: string;
  readonly name: string;
  readonly life: number;
  readonly seed: number;
  /** The step that the kill of the earlier life interrupted. */
  readonly retried?: NodeStep;
}

/** Above the time between two steps, so that most leases end by a kill. */
const TTL_MS = 400;
const MAX_THREADS = 8;
/** How long a node does nothing while another one may take its threads. */
const NAP_MS = 30;

const job = JSON.parse(process.argv[2] ?? "") as NodeJob;
const { run, name: by, life } = job;
const random = new Random(job.seed);
const database = openDatabaseAt(job.url, { keepBlobsMs: 1 });
const store = database.tenant(job.tenant);
let lease = await startLease();
let count = 0;

if (job.retried !== undefined) await take(job.retried);
for (;;) {
  await take(await nextStep());
  await renew();
  if (random.oneIn(2)) await handle();
  if (random.oneIn(4)) await claimOne().catch(nothingIfLate);
}

async function take(step: NodeStep): Promise<void> {
  tell({ type: "began", step });
  tell({ type: "done", step, result: await perform(store, step) });
}

async function nextStep(): Promise<NodeStep> {
  const id = `${run}_${by}_${life}_${count++}`;
  const { threads } = await store.list({ limit: 1000 });
  const others = threads.map((thread) => thread.id).filter((one) => BASES.every((base) => base !== one));
  const base = random.pick(BASES);
  const thread = others[random.below(2 * others.length)] ?? base;
  switch (random.below(12)) {
    case 0:
    case 1:
      return { type: "append", thread, id, create: false };
    case 2:
      return others.length < MAX_THREADS
        ? { type: "append", thread: id, id, create: true }
        : { type: "append", thread, id, create: false };
    case 3:
    case 4:
      return { type: "post", thread, id };
    case 5: {
      const [command] = await store.pending(thread);
      if (command === undefined) return { type: "post", thread, id };
      return { type: random.pick(["amend", "withdraw"]), thread, id: command.id };
    }
    case 6:
    case 7: {
      const entries = (await store.load(thread))?.toArray() ?? [];
      const shared = entries.slice(0, random.below(entries.length + 1)).map((entry) => entry.id);
      return { type: "fork", from: thread, to: id, shared };
    }
    case 8:
    case 9:
    case 10: {
      if (thread === base || others.length <= MAX_THREADS / 4)
        return { type: "fork", from: thread, to: id, shared: [] };
      return { type: "delete", thread, forks: random.pick(["keep", "keep", "delete"]) };
    }
    default:
      return { type: "blob", id, ...(random.oneIn(4) ? {} : { thread }) };
  }
}

async function startLease(): Promise<Lease> {
  const started = await database.leases.start({ node: `${run}_${by}`, ttlMs: TTL_MS });
  tell({ type: "lease", lease: { node: started.node, incarnation: started.incarnation } });
  return started;
}

async function renew(): Promise<void> {
  try {
    await database.leases.renew(lease);
  } catch (error) {
    if (!isLate(error)) throw error;
    lease = await startLease();
  }
}

async function handle(): Promise<void> {
  const taken = await database.runnable.take({ lease, agents: [run], limit: 2 }).catch(nothingIfLate);
  if (random.oneIn(3)) await nap();
  for (const thread of taken ?? []) await answerCommands(database, thread, { by, life }, tell).catch(nothingIfLate);
}

/** Lets other nodes take its threads before it goes on with them. */
async function nap(): Promise<void> {
  await database.leases.end(lease);
  await sleep(NAP_MS);
}

/** A claim without `take`: with the lease, or for a time of its own. */
async function claimOne(): Promise<void> {
  const thread = random.pick(BASES);
  const holder = `${run}_${by}`;
  const { epoch } = await store.claim(thread, random.oneIn(2) ? { holder, lease } : { holder, ttlMs: NAP_MS });
  tell({ type: "claimed", thread, by, life, epoch });
  if (random.oneIn(3)) await nap();
  await store.append(thread, note({ thread, by, life, epoch }), { epoch });
  if (random.oneIn(2)) await store.release(thread, epoch);
}

function nothingIfLate(error: unknown): undefined {
  if (!isLate(error)) throw error;
}

function tell(line: NodeLine): void {
  writeSync(1, `${JSON.stringify(line)}\n`);
}
