import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { ThreadStore } from "heddle";
import { expect, inject, test } from "vitest";
import { startChild } from "../support/child.ts";
import { openAt } from "../support/open-at.ts";
import { report } from "../support/report.ts";
import { seeded } from "../support/seeded.ts";
import { tempFile } from "../support/temp-folder.ts";
import type { Acknowledged } from "./support/commander.ts";

test("commands have one outcome each, with killed processes: SQLite", async () => {
  await killCommanders({ url: `sqlite:${tempFile()}`, tenant: "default", kills: 4 });
});

test("commands have one outcome each, with killed processes: Postgres", async () => {
  await killCommanders({ url: inject("postgresUrl"), tenant: randomUUID(), kills: 3 });
});

interface Killing {
  readonly url: string;
  readonly tenant: string;
  readonly kills: number;
}

/** Kills two processes that post and handle commands at random moments, and looks at every command after each kill. */
async function killCommanders({ url, tenant, kills }: Killing): Promise<void> {
  const random = seeded(0);
  const script = new URL("./support/commander.ts", import.meta.url);
  const acknowledged: Acknowledged[] = [];
  for (let killed = 0; killed < kills; killed++) {
    const lives = await Promise.all(
      ["a", "b"].map(async (name) => {
        const first = acknowledged.filter(({ type, id }) => type === "posted" && id.startsWith(name)).length;
        const child = startChild(script, url, tenant, name, String(first));
        await child.wrote(4 + random.below(30));
        await sleep(random.below(8)); // anywhere between two acknowledgements; nothing rests on how long it is
        await child.kill();
        return child.lines;
      }),
    );
    acknowledged.push(...lives.flat().map((line) => JSON.parse(line) as Acknowledged));
    const store = await openAt(url, { tenant });
    await expectOutcomes(store, acknowledged);
    await store.close();
  }
  const count = (wanted: Acknowledged["type"]) => acknowledged.filter(({ type }) => type === wanted).length;
  report({ seed: random.seed, kills: 2 * kills, posted: count("posted"), done: count("done") });
  expect(count("posted")).toBeGreaterThan(kills);
  expect(count("done")).toBeGreaterThan(kills);
}

async function expectOutcomes(store: ThreadStore, acknowledged: readonly Acknowledged[]): Promise<void> {
  const entries = (await store.load("asked"))?.toArray() ?? [];
  const writers = new Map(entries.map(({ id, payload }) => [id, payload["by"]]));
  expect(writers.size, "no command is answered twice").toBe(entries.length);
  const waiting = new Set((await store.pending("asked")).map(({ id }) => id));
  const told = new Set((await store.pending("told")).map(({ id }) => id));
  for (const id of acknowledged.flatMap((call) => (call.type === "posted" ? [call.id] : []))) {
    const outcome = waiting.has(id) ? { status: "waiting" } : await store.outcome("asked", id);
    expect(writers.get(`${id}/0`), `${id}: the entry and its outcome`).toBe(outcome["by"]);
    expect(told.has(id), `${id}: the command to the other thread`).toBe(outcome.status === "done");
  }
  for (const { type, id } of acknowledged) {
    if (type !== "posted")
      expect(await store.outcome("asked", id), `${id}: as acknowledged`).toMatchObject({ status: type });
  }
}
