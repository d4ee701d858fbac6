import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { AgentServer, type AnyAgent, systemRuntimePorts } from "heddle";
import { expect, inject, onTestFinished, test, vi } from "vitest";
import { startChild } from "../support/child.ts";
import { openAt } from "../support/open-at.ts";
import { fastFolder } from "../support/temp-folder.ts";
import { charging } from "./support/charging-agent.ts";
import type { HolderJob } from "./support/stopping-holder.ts";

const databases = {
  SQLite: () => ({ url: `sqlite:${join(fastFolder(), "threads.db")}`, tenant: "default" }),
  Postgres: () => ({ url: inject("postgresUrl"), tenant: randomUUID() }),
};

const WAIT_MS = 600_000;

test.each(Object.entries(databases))(
  "a process that waits gets a thread at its first poll after another process has stopped, at most 100 ms later: %s",
  async (_, database) => {
    const job: HolderJob = { ...database(), threadId: "t" };
    const child = startChild(new URL("./support/stopping-holder.ts", import.meta.url), JSON.stringify(job));
    await child.wrote(1);
    const store = await openAt(job.url, { tenant: job.tenant });
    onTestFinished(() => store.close());
    const claim = store.claim.bind(store);
    const attempts: { readonly begunAt: number; readonly isTaken: boolean }[] = [];
    const isRefused = Promise.withResolvers<void>();
    vi.spyOn(store, "claim").mockImplementation(async (...given) => {
      const begunAt = Date.now();
      try {
        const claimed = await claim(...given);
        attempts.push({ begunAt, isTaken: true });
        return claimed;
      } catch (error) {
        attempts.push({ begunAt, isTaken: false });
        isRefused.resolve();
        throw error;
      }
    });
    const pauses: number[] = [];
    const after: typeof systemRuntimePorts.after = (ms, run) => {
      pauses.push(ms);
      return systemRuntimePorts.after(ms, run);
    };
    const agent = charging(async () => "charged") as AnyAgent; // its types do not matter here
    const options = { agent, store, threadId: "t", holder: "second", leaseTtlMs: WAIT_MS, claimWaitMs: WAIT_MS };
    let pausesUntilTaken: readonly number[] = [];
    const starting = AgentServer.start({ ...options, ports: { after } }).then((server) => {
      pausesUntilTaken = pauses.slice(0, attempts.length);
      return server;
    });
    await isRefused.promise; // it waits
    child.tell("stop");
    const second = await starting;
    await child.ended;
    const releasedAt = Number(child.lines[1]);
    // The clock is the same for both: an attempt that began after the release is the one that got the thread.
    expect(attempts.filter(({ begunAt }) => begunAt > releasedAt).length).toBeLessThanOrEqual(1);
    expect(attempts.map(({ isTaken }) => isTaken)).toEqual([...attempts.slice(1).map(() => false), true]);
    const [wait, ...polls] = pausesUntilTaken;
    expect(wait).toBe(WAIT_MS);
    expect(polls).toHaveLength(attempts.length - 1);
    expect(polls.filter((ms) => ms > 100)).toEqual([]);
    await second.stop();
  },
);
