import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { AgentServer, type AnyAgent, defineAgent, HeddleError, type ThreadStore } from "heddle";
import { scriptedModel } from "heddle/testing";
import { expect, inject, onTestFinished, test } from "vitest";
import { type Child, startChild } from "../support/child.ts";
import { openAt } from "../support/open-at.ts";
import { fastFolder } from "../support/temp-folder.ts";
import { charging } from "./support/charging-agent.ts";
import type { FrozenJob } from "./support/frozen-agent.ts";

const databases = {
  SQLite: () => ({ url: `sqlite:${join(fastFolder(), "threads.db")}`, tenant: "default" }),
  Postgres: () => ({ url: inject("postgresUrl"), tenant: randomUUID() }),
};

test.each(Object.entries(databases))(
  "a process that was frozen while another one cancelled its request starts nothing when it continues: %s",
  async (_, database) => {
    const file = join(fastFolder(), "charges");
    const job: FrozenJob = { ...database(), threadId: "t", file, leaseTtlMs: 5_000 };
    const child = startChild(new URL("./support/frozen-agent.ts", import.meta.url), JSON.stringify(job));
    const lines = () => child.lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    for (let count = 1; lines().filter(({ charged }) => charged === true).length < 2; count++) {
      await child.wrote(count);
      if (child.lines.length < count)
        throw new Error(`the process ended before it had charged twice:\n${child.lines.join("\n")}`);
    }
    const store = await openAt(job.url, { tenant: job.tenant });
    onTestFinished(() => store.close());
    await freeze(child, store); // a tool is running, and the others wait
    const { tools } = charging(async () => "charged");
    const model = scriptedModel([{ hang: true }]);
    const agent = defineAgent({ model, tools }) as AnyAgent; // its types do not matter here
    const second = await AgentServer.start({
      agent,
      store,
      threadId: "t",
      holder: "second",
      leaseTtlMs: 60_000,
      claimWaitMs: 60_000,
    });
    expect(await second.cancel()).toBe(true);
    const before = readFileSync(file, "utf8");
    child.send("SIGCONT");
    await child.ended;
    expect(readFileSync(file, "utf8")).toBe(before);
    const events = lines().filter(({ event }) => event !== undefined);
    // A call that was in flight when the process froze may pass its deadline before the process learns of the loss.
    expect([{ reason: "lost", holder: "second" }, { reason: "store" }]).toContainEqual(events.at(-1)?.["data"]);
    expect(events.at(-1)?.["event"]).toBe("request_suspended");
    expect(lines().at(-1)).toEqual({ result: "request_suspended", next: { code: "thread_held", holder: "second" } });
    const ends = events.filter(({ event }) => /^request_(completed|failed|cancelled)$/.test(String(event)));
    expect(ends).toEqual([]);
    await second.stop();
  },
);

/** Freezes a process, but not within a write: it would hold the lock of a SQLite file. */
async function freeze(child: Child, store: ThreadStore): Promise<void> {
  for (;;) {
    child.send("SIGSTOP");
    const probe = await store.append("probe", {}).catch((error: unknown) => error);
    if (!HeddleError.isInstance(probe)) return;
    if (probe.code !== "store_busy") throw probe;
    child.send("SIGCONT");
  }
}
