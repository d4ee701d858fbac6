import { beforeAll, describe, expect, test, vi } from "vitest";
import * as decide from "../../src/agent/react/decide.ts";
import { evolve, INITIAL_STATE, type OpenCall, openCalls, type Run } from "../../src/agent/react/state.ts";
import type { FaultPlan } from "../../src/testing/fault-store/fault.ts";
import type { Random } from "../../src/testing/random.ts";
import { CLIENT_TOOLS } from "../../src/testing/simulation/generated-agent.ts";
import { checkCommands } from "../../src/testing/simulation/user-calls.ts";
import { isSoak, reportCases } from "../support/case-budget.ts";
import { seeded } from "../support/seeded.ts";
import { IMPOSSIBLE, KILLED_ELSEWHERE, SIGNALS_KILLED_ELSEWHERE } from "./commit-points/impossible.ts";
import { type CommitPoint, recordCommitPoints } from "./commit-points/observed.ts";
import { appendsInCore, signalsInCore, writesInRuntime } from "./commit-points/sources.ts";
import { Stage, type Story } from "./kills/stage.ts";
import { STORIES } from "./kills/stories.ts";

/** The type of the signal that was decided last: the next writes are of it. */
let signalType = "none";

type Way = readonly [when: "before" | "after", how: "resume" | "fail"];

/**
 * When a process dies, and how the next one recovers. A soak takes every way at every write. Other runs take a random way at
 * one write of each commit point of a story.
 */
const WAYS: readonly [Way, ...Way[]] = [
  ["before", "resume"],
  ["before", "fail"],
  ["after", "resume"],
  ["after", "fail"],
];

let kills = 0;
const seen: CommitPoint[] = [];
const writes = new Map<Story, readonly CommitPoint[]>();

beforeAll(async () => {
  const real = decide.decideDurable;
  const spy = vi.spyOn(decide, "decideDurable").mockImplementation((agent, signal) => {
    signalType = signal.type;
    return real(agent, signal);
  });
  for (const story of STORIES) writes.set(story, await played(story));
  spy.mockRestore();
});

describe("a process that is killed at any write", () => {
  test.each(STORIES.map((story) => [story.name, story] as const))("%s", async (_, story) => {
    const points = writes.get(story) ?? [];
    expect(points.length).toBeGreaterThan(1);
    const random = seeded();
    for (const n of isSoak ? points.keys().map((index) => index + 1) : oneOfEach(points, random)) {
      const ways = isSoak ? WAYS : [random.pick(WAYS)];
      for (const [when, how] of ways) await killed(story, n, when, how);
      kills += ways.length;
    }
  });
});

describe("the list of commit points", () => {
  test("every write of the runtime is killed in a story", () => {
    reportCases(kills);
    const killed = new Set(seen.map(({ site }) => site));
    const missing = writesInRuntime().filter((site) => !killed.has(site) && !isElsewhere(site));
    expect(missing, "add a story to tests/simulation/kills in which this place writes").toEqual([]);
  });

  test("every entry that a signal may write is killed in a story", () => {
    const killed = new Set(seen.flatMap(({ appends }) => appends));
    const missing = appendsInCore().filter(
      (point) => !killed.has(point) && !(point in IMPOSSIBLE) && !isOfHosts(point),
    );
    expect(
      missing,
      "add a story in which this signal writes this entry, or say in impossible.ts why none does",
    ).toEqual([]);
  });

  test("events that are documented as impossible are in the sources, and do not happen", () => {
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
    expect(silent, "signals that write nothing").toEqual(["steer", "end_reported"]);
  });
});

function isOfHosts(point: string): boolean {
  return (point.split(" > ")[0] ?? "") in SIGNALS_KILLED_ELSEWHERE;
}

function isElsewhere(site: string): boolean {
  return Object.keys(KILLED_ELSEWHERE).some((room) => site.startsWith(room));
}

/** Whether nothing was at work: each call waits for somebody outside, or was decided there. */
function waits(run: Run): boolean {
  const open = openCalls(run);
  const isOutside = ({ call, status }: OpenCall) =>
    CLIENT_TOOLS.has(call.name) || !["open", "started"].includes(status);
  return open.length > 0 && open.every(isOutside);
}

/** The number of a random write of each commit point. */
function oneOfEach(points: readonly CommitPoint[], random: Random): number[] {
  const numbers = new Map<string, [number, ...number[]]>();
  for (const [index, { site, appends }] of points.entries()) {
    const key = [site, ...appends].join(" ");
    const list = numbers.get(key);
    if (list === undefined) numbers.set(key, [index + 1]);
    else list.push(index + 1);
  }
  return [...numbers.values()].map((list) => random.pick(list));
}

/** Plays a story to its end and answers its writes, in order. */
async function played(story: Story): Promise<readonly CommitPoint[]> {
  let count = 0;
  const first = seen.length;
  const stage = await Stage.open(story, () => {
    count += 1;
    return undefined;
  });
  const stop = recordCommitPoints(() => signalType, seen);
  try {
    expect(await stage.run(story.play), story.name).toBe("over");
  } finally {
    stop();
    await stage.close();
  }
  const points = seen.slice(first);
  expect(points, "each write is a commit point").toHaveLength(count);
  return points;
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
    if (open !== undefined) {
      // Asks that waited may have followed.
      const { last } = log.thread.filterByRef("requestId", open).reduce(evolve, INITIAL_STATE);
      expect(last?.run.requestId, where).toBe(open);
      if (how === "fail" && isInterrupted)
        expect(last?.end, where).toMatchObject({ status: "failed", failure: { code: "request_interrupted" } });
      else
        expect([...(story.ends ?? ["completed"]), ...(how === "fail" ? ["failed"] : [])], where).toContain(
          last?.end.status,
        );
    }
    await stage.goesOn();
    await checkCommands(stage.world);
    stage.world.journal.check();
    expect(toolRuns.count, where).toBeLessThan(10);
  } catch (error) {
    throw new Error(`${where}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  } finally {
    await stage.close();
  }
}
