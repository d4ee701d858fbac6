import { memoryStore, systemRuntimePorts, type ThreadStore } from "heddle";
import { expect, test } from "vitest";
import { notePosted } from "../../../src/runtime/perform/request-effects.ts";

/** Follows the inbox of a thread that is stopped, or not, from a store on which the test says when something was posted. */
function followed({ isStopped }: { readonly isStopped: () => boolean }) {
  const wakes: (() => void)[] = [];
  const counts = { looks: 0, reads: 0 };
  const { promise: ended, reject } = Promise.withResolvers<never>();
  ended.catch(() => undefined);
  const signal = Object.defineProperty(new AbortController().signal, "aborted", {
    get: () => {
      if (++counts.looks < 100) return isStopped();
      const error = new Error("The loop does not end.");
      reject(error);
      throw error;
    },
  });
  const store: ThreadStore = {
    ...memoryStore(),
    onPosted: (_, wake) => {
      wakes.push(wake);
      return () => undefined;
    },
    pending: async () => {
      counts.reads++;
      return [];
    },
  };
  const post = (): void => {
    for (const wake of wakes) wake();
  };
  const posted = notePosted(store, "thread_1");
  const live = { inbox: new Map() } as never; // the inbox is all that is read of it
  const options = { ports: systemRuntimePorts, holder: undefined, performCall: async () => undefined };
  const begin = () => posted.readBy({ options, live, stopped: signal, reply: async () => undefined });
  return { counts, post, begin, ended };
}

const later = () => new Promise((resolve) => setTimeout(resolve, 0));

test("a post to a thread that is stopped has nothing read, and ends", async () => {
  const { counts, post, begin, ended } = followed({ isStopped: () => true });
  post();
  begin();
  await Promise.race([later(), ended]);
  expect(counts.reads).toBe(0);
});

test.each(Array.from({ length: 20 }, (_, ticks) => ticks))(
  "a post %i microtasks after another has the inbox read once more",
  async (ticks) => {
    const { counts, post, begin } = followed({ isStopped: () => false });
    begin();
    await later();
    post();
    for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
    const before = counts.reads;
    post();
    await later();
    expect(counts.reads).toBeGreaterThan(before);
  },
);
