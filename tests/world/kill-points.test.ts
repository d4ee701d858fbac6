import { beforeAll, describe, expect, test, vi } from "vitest";
import { type OpenCall, openCalls, type Run } from "../../src/agent/react/run.ts";
import type { Signal } from "../../src/agent/signal.ts";
import type { FaultPlan } from "../../src/testing/fault-store/seeded-plan.ts";
import { CLIENT } from "../../src/testing/world/tools.ts";
import { IMPOSSIBLE, KILLED_ELSEWHERE } from "./commit-points/impossible.ts";
import { type CommitPoint, recordCommitPoints } from "./commit-points/observed.ts";
import { appendsInCore, signalsInCore, writesInRuntime } from "./commit-points/sources.ts";
import { Stage, type Story } from "./kills/stage.ts";
import { STORIES } from "./kills/stories.ts";

const signal = vi.hoisted(() => ({ type: "none" }));
vi.mock("../../src/agent/react/decide.ts", async (original) => {
  const real = await original<typeof import("../../src/agent/react/decide.ts")>();
  return {
    ...real,
    decideDurable: (agent: never, given: Signal) => {
      signal.type = given.type; // what comes next is of this signal, too
      return real.decideDurable(agent, given);
    },
  };
});

const seen: CommitPoint[] = [];
const writes = new Map<Story, number>();

beforeAll(async () => {
  for (const story of STORIES) writes.set(story, await played(story));
});

describe("a process that is killed at any write", () => {
  test.each(STORIES.map((story) => [story.name, story] as const))("%s", async (_, story) => {
    const count = writes.get(story) ?? 0;
    expect(count).toBeGreaterThan(1);
    for (let n = 1; n <= count; n++) {
      for (const when of ["before", "after"] as const) {
        for (const how of ["resume", "fail"] as const) await killed(story, n, when, how);
      }
    }
  });
});

describe("the list of commit points", () => {
  test("every write of the runtime is killed in a story", () => {
    const killed = new Set(seen.map(({ site }) => site));
    const missing = writesInRuntime().filter((site) => !killed.has(site) && !isElsewhere(site));
    expect(missing, "add a story to tests/world/kills/stories.ts in which this place writes").toEqual([]);
  });

  test("every entry that a signal may write is killed in a story", () => {
    const killed = new Set(seen.flatMap(({ appends }) => appends));
    const missing = appendsInCore().filter((point) => !killed.has(point) && !(point in IMPOSSIBLE));
    expect(
      missing,
      "add a story in which this signal writes this entry, or say in impossible.ts why none does",
    ).toEqual([]);
  });

  test("what is said to be impossible is in the sources, and does not happen", () => {
    const expected = new Set(appendsInCore());
    const killed = new Set(seen.flatMap(({ appends }) => appends));
    expect(Object.keys(IMPOSSIBLE).filter((point) => !expected.has(point) || killed.has(point))).toEqual([]);
    expect(
      Object.keys(KILLED_ELSEWHERE).filter((room) => !writesInRuntime().some((site) => site.startsWith(room))),
    ).toEqual([]);
  });

  test("what happens was expected: the sources are read right", () => {
    const expected = new Set(appendsInCore());
    expect([...new Set(seen.flatMap(({ appends }) => appends))].filter((point) => !expected.has(point))).toEqual([]);
    expect(new Set(seen.map(({ site }) => site)).difference(new Set(writesInRuntime()))).toEqual(new Set());
    const handled = new Set(appendsInCore().map((point) => point.split(" > ")[0]));
    const silent = signalsInCore().filter((name) => !handled.has(name));
    expect(silent, "signals that write nothing").toEqual(["steer"]);
  });
});

function isElsewhere(site: string): boolean {
  return Object.keys(KILLED_ELSEWHERE).some((room) => site.startsWith(room));
}

/** Whether nothing was at work: each call waits for somebody outside, or was decided there. */
function waits(run: Run): boolean {
  const open = openCalls(run);
  const isOutside = ({ call, status }: OpenCall) => CLIENT.has(call.name) || !["open", "started"].includes(status);
  return open.length > 0 && open.every(isOutside);
}

/** Plays a story to its end, notes where it wrote, and answers how often. */
async function played(story: Story): Promise<number> {
  let count = 0;
  const stage = await Stage.open(story, () => {
    count += 1;
    return undefined;
  });
  const stop = recordCommitPoints(() => signal.type, seen);
  try {
    expect(await stage.run(story.play), story.name).toBe("over");
  } finally {
    stop();
    await stage.close();
  }
  return count;
}

/** Plays it again, kills its process at one write, and looks how the next one goes on. */
async function killed(story: Story, n: number, when: "before" | "after", how: "resume" | "fail"): Promise<void> {
  const where = `killed ${when} write ${n}, then ${how}`;
  let count = 0;
  const plan: FaultPlan = () => (++count === n ? { type: "crash", when } : undefined);
  const stage = await Stage.open(story, plan);
  const { log, toolRuns } = stage.world;
  try {
    // What is written last may be written when all is over.
    await stage.run(story.play);
    const { run } = log.state;
    const open = run?.requestId;
    const isInterrupted = run !== undefined && run.handedOver === undefined && !waits(run);
    await stage.recover(how);
    expect(log.state.run, where).toBeUndefined();
    const { last } = log.state;
    if (open !== undefined) {
      expect(last?.run.requestId, where).toBe(open);
      if (how === "fail" && isInterrupted)
        expect(last?.end, where).toMatchObject({ status: "failed", failure: { code: "request_interrupted" } });
      else
        expect([...(story.ends ?? ["completed"]), ...(how === "fail" ? ["failed"] : [])], where).toContain(
          last?.end.status,
        );
    }
    await stage.goesOn();
    expect(toolRuns.count, where).toBeLessThan(10);
  } catch (error) {
    throw new Error(`${where}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  } finally {
    await stage.close();
  }
}
