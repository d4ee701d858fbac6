import type { Advanced, Scheduler } from "../../runtime/host/advance.ts";
import { type ContractCase, ContractFailure, within } from "../contract/case-fixture.ts";
import { freshName } from "../random.ts";

/** Stands for `host.advance` in the cases. */
export type AdvanceThread = (threadId: string) => Promise<Advanced>;

/** The engine under test, as one process uses it. */
export interface EngineProcess {
  readonly scheduler: Scheduler;
  /** Ends this process as a crash does. The times that were woken stay. */
  readonly kill: () => Promise<void>;
}

/** An engine that calls `advance` of a host. */
export interface EngineSubject {
  /** Starts a process. The adapter calls `advance` where it calls a host. */
  readonly start: (advance: AdvanceThread) => Promise<EngineProcess>;
  /** The timeout of a case, in milliseconds; default 60,000. */
  readonly timeoutMs?: number | undefined;
}

/** Calls of `advance` in one case, and the processes that it has started. */
interface EngineFixture {
  /** Starts a process whose calls are noted, and answered by `answer`. */
  readonly start: (answer: AdvanceThread) => Promise<EngineProcess>;
  /** Resolves when the thread has been advanced so often. */
  readonly advanced: (threadId: string, times: number) => Promise<void>;
  /** When the thread was advanced, in milliseconds since 1970. */
  readonly times: (threadId: string) => readonly number[];
  readonly threadId: (name: string) => string;
}

const IDLE: Advanced = { state: "idle" };
const idle: AdvanceThread = () => Promise.resolve(IDLE);
/** A time that no case waits for. */
const FAR_MS = 3_600_000;
const SOON_MS = 700;

const CASES: Readonly<Record<string, (fixture: EngineFixture) => Promise<void>>> = {
  "a thread that is woken is advanced": async ({ start, advanced, threadId }) => {
    const { scheduler } = await start(idle);
    await scheduler.wake(threadId("t"), Date.now());
    await advanced(threadId("t"), 1);
  },
  "a thread is advanced when its time has come": async ({ start, advanced, times, threadId }) => {
    const { scheduler } = await start(idle);
    const at = Date.now() + SOON_MS;
    await scheduler.wake(threadId("t"), at);
    while (!times(threadId("t")).some((time) => time >= at))
      await advanced(threadId("t"), times(threadId("t")).length + 1);
  },
  "threads with hard names are advanced": async ({ start, advanced, threadId }) => {
    const { scheduler } = await start(idle);
    const names = ["a b", "a/b?c#d", "ü€", "..", "%2F"].map(threadId);
    for (const name of names) await scheduler.wake(name, Date.now());
    await Promise.all(names.map((name) => advanced(name, 1)));
  },
  "twenty threads do not wait for each other": async ({ start, advanced, threadId }) => {
    const names = Array.from({ length: 20 }, (_, index) => threadId(`t${index}`));
    const { promise: all, resolve } = Promise.withResolvers<Advanced>();
    const running = new Set<string>();
    const { scheduler } = await start((name) => {
      if (running.add(name).size === names.length) resolve(IDLE);
      return all;
    });
    await Promise.all(names.map((name) => scheduler.wake(name, Date.now())));
    await Promise.all(names.map((name) => advanced(name, 1)));
  },
  "a thread that waits is advanced again at its time": async ({ start, advanced, times, threadId }) => {
    let until = 0;
    const { scheduler } = await start(() => {
      if (until > 0) return idle("");
      until = Date.now() + SOON_MS;
      return Promise.resolve({ state: "waiting", until });
    });
    await scheduler.wake(threadId("t"), Date.now());
    for (let count = 2; !times(threadId("t")).some((time) => time >= until); count++)
      await advanced(threadId("t"), count);
  },
  "a thread with more to do is advanced again": async ({ start, advanced, threadId }) => {
    let calls = 0;
    const { scheduler } = await start(() => Promise.resolve(++calls < 3 ? { state: "more" } : IDLE));
    await scheduler.wake(threadId("t"), Date.now());
    await advanced(threadId("t"), 3);
  },
  "an advance that failed is repeated": async ({ start, advanced, threadId }) => {
    let calls = 0;
    const { scheduler } = await start(() => (++calls < 3 ? Promise.reject(new Error("The store is away.")) : idle("")));
    await scheduler.wake(threadId("t"), Date.now());
    await advanced(threadId("t"), 3);
  },
  "an earlier time comes first, also when it is woken later": async ({ start, advanced, threadId }) => {
    const { scheduler } = await start(idle);
    await scheduler.wake(threadId("t"), Date.now() + FAR_MS);
    await scheduler.wake(threadId("t"), Date.now());
    await advanced(threadId("t"), 1);
  },
  "a later time does not replace an earlier one": async ({ start, advanced, threadId }) => {
    const { scheduler } = await start(idle);
    await scheduler.wake(threadId("t"), Date.now() + SOON_MS);
    await scheduler.wake(threadId("t"), Date.now() + FAR_MS);
    await advanced(threadId("t"), 1);
  },
  "a thread that is woken while it is advanced is advanced once more": async ({ start, advanced, threadId }) => {
    const begun = Promise.withResolvers<void>();
    const woken = Promise.withResolvers<Advanced>();
    let calls = 0;
    const { scheduler } = await start(() => {
      if (++calls > 1) return idle("");
      begun.resolve();
      return woken.promise;
    });
    await scheduler.wake(threadId("t"), Date.now());
    await begun.promise;
    await scheduler.wake(threadId("t"), Date.now());
    woken.resolve(IDLE);
    await advanced(threadId("t"), 2);
  },
  "a time outlives the process": async ({ start, advanced, threadId }) => {
    const first = await start(idle);
    await first.scheduler.wake(threadId("t"), Date.now() + SOON_MS);
    await first.kill();
    await start(idle);
    await advanced(threadId("t"), 1);
  },
  "a thread whose process dies while it is advanced is advanced by the next": async ({ start, advanced, threadId }) => {
    const begun = Promise.withResolvers<void>();
    const first = await start(() => {
      begun.resolve();
      return new Promise<never>(() => undefined);
    });
    await first.scheduler.wake(threadId("t"), Date.now());
    await begun.promise;
    await first.kill();
    await start(idle);
    await advanced(threadId("t"), 2);
  },
};

const CASE_TIMEOUT_MS = 60_000;

/**
 * The cases that an adapter of an engine must pass, so that each thread is advanced at least once at each of its times. Run each
 * one as a test.
 *
 * @example
 * const start: EngineSubject["start"] = async (advance) => {
 *   const timers = new Set<NodeJS.Timeout>(); // an engine that forgets: the last two cases fail
 *   const wake = (threadId: string, at: number) => {
 *     timers.add(setTimeout(() => void advance(threadId), Math.min(at - Date.now(), 2 ** 31 - 1)));
 *   };
 *   return { scheduler: { wake }, kill: async () => timers.forEach((timer) => clearTimeout(timer)) };
 * };
 * const cases = engineContract({ start });
 * await cases[0]?.run();
 */
export function engineContract(subject: EngineSubject): readonly ContractCase[] {
  return Object.entries(CASES).map(([name, test]) => ({ name, group: "engine", run: () => runCase(subject, test) }));
}

async function runCase(
  { start, timeoutMs = CASE_TIMEOUT_MS }: EngineSubject,
  test: (fixture: EngineFixture) => Promise<void>,
): Promise<void> {
  const prefix = freshName();
  const calls = new Map<string, number[]>();
  const killed = new Map<EngineProcess, () => Promise<void>>();
  let changed = Promise.withResolvers<void>();
  const times = (threadId: string): readonly number[] => calls.get(threadId) ?? [];
  const fixture: EngineFixture = {
    times,
    threadId: (name) => `${prefix}_${name}`,
    async start(answer) {
      const process = await start((threadId) => {
        if (!threadId.startsWith(prefix)) return idle(threadId); // left by another case, whose process was killed
        calls.set(threadId, [...times(threadId), Date.now()]);
        changed.resolve();
        changed = Promise.withResolvers();
        return answer(threadId);
      });
      let hasDied = false;
      const kill = async (): Promise<void> => {
        if (hasDied) return;
        hasDied = true;
        await process.kill();
      };
      killed.set(process, kill);
      return { scheduler: process.scheduler, kill };
    },
    async advanced(threadId, count) {
      while (times(threadId).length < count) await changed.promise;
    },
  };
  try {
    await within(timeoutMs, test(fixture));
  } catch (error) {
    const seen = JSON.stringify(Object.fromEntries(calls));
    throw error instanceof ContractFailure ? new ContractFailure(`${error.message}; advanced: ${seen}`) : error;
  } finally {
    await Promise.all([...killed.values()].map((kill) => kill()));
  }
}
