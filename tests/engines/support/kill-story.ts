import { setTimeout as sleep } from "node:timers/promises";
import type { Entry } from "heddle";
import { expect } from "vitest";
import type { Random } from "../../support/seeded.ts";
import { expectRunsOnce, expectWholeRequests } from "../../support/whole-requests.ts";

/** An engine with an agent of `planAgent`, as a test sees it. */
export interface EngineStory {
  /** Posts an ask, once for each id, and wakes the thread. */
  readonly ask: (threadId: string, id: string, plan: string) => Promise<void>;
  readonly read: (threadId: string) => Promise<{ readonly ok: boolean; readonly entries: readonly Entry[] }>;
  /** Kills the process that runs the threads, and starts another. */
  readonly kill: () => Promise<void>;
  /** The lines that the tools have noted. */
  readonly runs: () => readonly string[];
}

/** How long everything may take after the last kill, in milliseconds. Only a hang needs it. */
const HANG_MS = 120_000;

async function again<Answer>(until: number, work: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (Date.now() > until) throw error;
      await sleep(50); // the process was killed
    }
  }
}

function isEnded(entries: readonly Entry[], id: string): boolean {
  return entries.some(({ payload, refs }) => refs.requestId === id && "end" in payload);
}

/** Users ask while the process is killed again and again. In the end each ask has one end, and nothing ran twice. */
export async function throughKills(story: EngineStory, random: Random, threads: number, kills: number): Promise<void> {
  let isOver = false;
  const until = Date.now() + HANG_MS + kills * 10_000;
  const user = async (threadId: string): Promise<number> => {
    let asks = 0;
    while (!isOver || asks === 0) {
      const id = `req_${threadId}_${asks++}`;
      const plan = random.list(random.below(4), () => random.pick(["note", "charge"])).join(" ");
      await again(until, () => story.ask(threadId, id, plan));
      for (;;) {
        const { entries } = await again(until, () => story.read(threadId));
        if (isEnded(entries, id)) break;
        if (Date.now() > until) return expect.fail(`${id} has no end: ${JSON.stringify(entries.slice(-4))}`);
        await sleep(50);
      }
    }
    return asks;
  };
  const ids = random.list(threads, (index) => `thread_${index}`);
  const users = Promise.all(ids.map(user));
  for (let kill = 0; kill < kills; kill++) {
    await sleep(random.below(400));
    await story.kill();
  }
  isOver = true;
  const asked = await users;
  expectRunsOnce(story.runs());
  for (const [index, threadId] of ids.entries()) {
    const { ok, entries } = await story.read(threadId);
    expect(ok, threadId).toBe(true);
    expect(expectWholeRequests(threadId, entries)).toBe(asked[index]);
  }
}
