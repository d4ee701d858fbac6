import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Entry } from "heddle";
import type { ThreadDatabase } from "heddle/store";
import { expect, onTestFinished } from "vitest";
import { type Child, startChild } from "../../support/child.ts";
import { openDatabaseAt } from "../../support/open-at.ts";
import { report } from "../../support/report.ts";
import { seeded } from "../../support/seeded.ts";

interface Stopping {
  readonly url: string;
  /** How often a worker is killed or frozen. */
  readonly stops: number;
}

const THREADS = 4;
const POSTS = 12;

/** Kills workers, and freezes them for longer than their lease, while they handle commands of two tenants. */
export async function stopWorkers({ url, stops }: Stopping): Promise<void> {
  const random = seeded(0);
  const run = randomUUID();
  const tenants = [`${run}_a`, `${run}_b`];
  const database = openDatabaseAt(url);
  onTestFinished(() => database.close());
  await database.tenant(run).list(); // creates the tables
  let started = 0;
  const start = async (): Promise<Child> => {
    const child = startChild(new URL("./worker.ts", import.meta.url), url, `${run}_${started++}`, run);
    await child.wrote(1);
    return child;
  };
  const workers = [await start(), await start()];
  const posted: Posted[] = [];
  for (let stop = 0; stop < stops; stop++) {
    const more = 1 + random.below(3);
    // Counted before the posts, because workers may have handled all of them when the last post returns.
    const busy = workers.map(async (child, index) => {
      await child.wrote(child.lines.length + more);
      return index;
    });
    for (let n = 0; n < POSTS; n++)
      posted.push(await post(database, tenants, run, posted.length, random.below(THREADS)));
    const place = await Promise.race(busy);
    const worker = workers[place] ?? (await start());
    await sleep(random.below(8)); // anywhere between two appends; nothing rests on how long it is
    if (stop % 2 === 0) {
      await worker.kill();
      workers[place] = await start();
    } else {
      worker.send("SIGSTOP");
      await sleep(1000); // more than a lease, so that others can take its threads
      worker.send("SIGCONT");
    }
  }
  const failure = Promise.race(workers.map(({ ended }) => ended)).then(() =>
    Promise.reject(new Error("a worker ended")),
  );
  failure.catch(() => {}); // the race below reports it; later it is the end of the workers
  const takenOver = await Promise.race([expectOneOutcomeEach(database, posted), failure]);
  await Promise.all(workers.map((worker) => worker.kill()));
  report({ seed: random.seed, stops, posted: posted.length, "taken over": takenOver });
}

interface Posted {
  readonly tenant: string;
  readonly thread: string;
  readonly id: string;
}

async function post(
  database: ThreadDatabase,
  tenants: readonly string[],
  agent: string,
  count: number,
  place: number,
): Promise<Posted> {
  const posted = { tenant: tenants[count % tenants.length] ?? "", thread: `t${place}`, id: `c${count}` };
  await database.tenant(posted.tenant).post(posted.thread, { id: posted.id, type: "ask" }, { agent });
  return posted;
}

/** Without an outcome for so long, no command will get one. */
const HANG_MS = 3 * 60_000;

/** Waits until no command is pending. Fails at once when a thread had two holders: then a command may never get an outcome. */
async function untilAllAreDone(database: ThreadDatabase, posted: readonly Posted[]): Promise<void> {
  let waiting = posted.length;
  for (let since = performance.now(); waiting > 0; await sleep(20)) {
    const places = new Map(posted.map(({ tenant, thread }) => [`${tenant}/${thread}`, { tenant, thread }]));
    let pending = 0;
    for (const { tenant, thread } of places.values()) {
      const store = database.tenant(tenant);
      expectOneHolderAtATime((await store.load(thread))?.toArray() ?? []);
      pending += (await store.pending(thread)).length;
    }
    if (pending < waiting) since = performance.now();
    else if (performance.now() - since > HANG_MS)
      throw new Error(`${pending} commands wait, and no worker takes their threads`);
    waiting = pending;
  }
}

function expectOneHolderAtATime(entries: readonly Entry[]): void {
  const epochs = entries.map(({ payload }) => Number(payload["epoch"]));
  expect(epochs, "no entry of an earlier holder comes after one of a later").toEqual(epochs.toSorted((a, b) => a - b));
  const holders = new Set(entries.map(({ payload }) => `${payload["epoch"]} ${payload["by"]}`));
  expect(holders.size, "an epoch has one holder").toBe(new Set(epochs).size);
}

/** Waits for all outcomes. Returns how often a thread changed its holder. */
async function expectOneOutcomeEach(database: ThreadDatabase, posted: readonly Posted[]): Promise<number> {
  await untilAllAreDone(database, posted);
  for (const { tenant, thread, id } of posted)
    expect(await database.tenant(tenant).outcome(thread, id), `${tenant} ${thread} ${id}`).toMatchObject({
      status: "done",
    });
  let changes = 0;
  for (const [place, commands] of Map.groupBy(posted, ({ tenant, thread }) => `${tenant}/${thread}`)) {
    const [tenant = "", thread = ""] = place.split("/");
    const store = database.tenant(tenant);
    const entries = (await store.load(thread))?.toArray() ?? [];
    const answers = new Map(entries.map(({ id, payload }) => [id, payload]));
    expect(answers.size, "no entry is there twice").toBe(entries.length);
    for (const { id } of commands)
      expect(await store.outcome(thread, id), `${id}: entry and outcome are of one holder`).toMatchObject({
        ...answers.get(`${id}/0`),
      });
    expectOneHolderAtATime(entries);
    expect(await store.verify(thread)).toMatchObject({ ok: true });
    changes += new Set(entries.map(({ payload }) => payload["by"])).size - 1;
  }
  return changes;
}
