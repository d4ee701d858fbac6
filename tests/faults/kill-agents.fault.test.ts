import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, inject, test } from "vitest";
import { openAt } from "../support/open-at.ts";
import { seeded } from "../support/seeded.ts";
import { fastFolder } from "../support/temp-folder.ts";
import type { JobOfAgent } from "./support/agent-process.ts";
import { agentProcess, expectOnce, expectSound, takeUp, told, untilTold } from "./support/killed-agents.ts";

const databases = {
  SQLite: () => ({ url: `sqlite:${join(fastFolder(), "threads.db")}`, tenant: "default" }),
  Postgres: () => ({ url: inject("postgresUrl"), tenant: randomUUID() }),
};

function jobOn(database: { readonly url: string; readonly tenant: string }): JobOfAgent {
  const file = join(fastFolder(), "paid");
  return {
    ...database,
    threadId: "t",
    file,
    recover: "resume",
    holder: "host",
    leaseTtlMs: 5_000,
    claimWaitMs: 0,
    asks: 1,
  };
}

describe.each(Object.entries(databases))("%s", (_, database) => {
  // Every fourth write, by the seed: with the runs of a day each write has its turn.
  test("an agent killed before and after its writes is resumed, or closed", async () => {
    const random = seeded();
    let isOver = false;
    for (let write = 1 + random.below(4); !isOver; write += 4) {
      const recover = random.oneIn(2) ? "resume" : "fail";
      const ended = await Promise.all(
        (["before", "after"] as const).map(async (when) => {
          const job = { ...jobOn(database()), stopAt: { write, when } };
          const child = agentProcess(job);
          const { done } = await untilTold(child, ({ stopped, done }) => stopped !== undefined || done === true);
          await child.kill();
          await takeUp({ job, recover, before: told(child) });
          return done === true;
        }),
      );
      isOver = ended.every((one) => one);
      expect(write).toBeLessThan(60);
    }
  });

  test("an agent killed at any moment loses nothing acknowledged, and does nothing twice", async () => {
    const random = seeded();
    const job = { ...jobOn(database()), asks: 1_000 };
    let before: ReturnType<typeof told> = [];
    const asks = () => before.filter(({ asked }) => asked !== undefined).length;
    // On a busy machine a process may be killed before it has asked anything.
    for (let kill = 0; kill < 6 || (asks() < 4 && kill < 30); kill++) {
      const child = agentProcess(job);
      await child.wrote(2 + random.below(60));
      await sleep(random.below(6)); // anywhere between two lines; nothing rests on how long it is
      await child.kill();
      before = [...before, ...told(child)];
    }
    expect(asks()).toBeGreaterThan(3);
    await takeUp({ job, recover: "resume", before });
  });

  test("of two processes one has the thread; when it is killed, the other takes over", async () => {
    const { holder: _none, ...job } = { ...jobOn(database()), leaseTtlMs: 5_000, asks: 100_000 };
    const first = agentProcess(job);
    await untilTold(first, ({ asked }) => asked !== undefined);
    const second = agentProcess(job);
    expect(await untilTold(second, () => true)).toEqual({ code: "thread_held" });
    await first.kill();
    const heir = agentProcess({ ...job, claimWaitMs: 300_000 });
    await untilTold(heir, ({ ended }) => ended !== undefined);
    await second.wrote(1);
    second.tell("again");
    expect(await untilTold(second, () => true, 1)).toEqual({ code: "thread_held" });
    await heir.kill();
    await takeUp({ job, recover: "fail", before: [...told(first), ...told(heir)] });
    expectOnce(job.file);
    const store = await openAt(job.url, { tenant: job.tenant });
    await expectSound(store, job.threadId, told(heir));
    await store.close();
  });
});
