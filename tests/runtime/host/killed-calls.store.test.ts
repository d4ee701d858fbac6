import type { AgentHost } from "heddle";
import { type FaultPlan, faultStore } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { agentOf, anything, house } from "./support/hosts.ts";

const T = "thread_1";
const WAIT = { calls: [{ id: "w", name: "wait" }] } as const;

/** A call from the process that does not hold the thread, and how often its effect is in the log. */
interface Story {
  readonly call: (host: AgentHost) => Promise<unknown>;
  readonly answer: unknown;
  readonly isEffect: (entry: { readonly kind: string; readonly payload: object }) => boolean;
}

const stories: Readonly<Record<string, Story>> = {
  steer: {
    call: (host) => host.steer(T, "Be quick.", { id: "s1" }),
    answer: { id: "s1", accepted: true },
    isEffect: ({ payload }) => "steer" in payload,
  },
  setSystemPrompt: {
    call: (host) => host.setSystemPrompt(T, "Be brief.", { opId: "op_1" }),
    answer: { opId: "op_1" },
    isEffect: ({ kind }) => kind === "ai_setting",
  },
  reset: {
    call: (host) => host.reset(T),
    answer: { opId: expect.any(String) },
    isEffect: ({ kind }) => kind === "ai_context_operation",
  },
  cancel: {
    call: (host) => host.cancel(T, undefined, "Enough."),
    answer: true,
    isEffect: ({ payload }) => "end" in payload,
  },
};

/** Kills the holder at its n-th write after another process has sent its call. */
function nth(n: number, when: "before" | "after", isSent: () => boolean): FaultPlan {
  let count = 0;
  return () => (isSent() && ++count === n ? { type: "crash", when } : undefined);
}

describe.each(Object.entries(stories))(
  "%s of a process whose holder is killed",
  (_name, { call, answer, isEffect }) => {
    test.each([1, 2, 3].flatMap((n) => [[n, "before"] as const, [n, "after"] as const]))(
      "at its write %s, %s it: has one answer, and its effect once",
      async (n, when) => {
        let isSent = false;
        const on = await house();
        const dying = faultStore(on.store, { plan: nth(n, when, () => isSent) });
        const tools = { wait: { inputSchema: anything, execute: () => new Promise<string>(() => undefined) } };
        const holder = on.host({ agent: agentOf([WAIT, "Never."], { tools }), store: dying, holder: "web_1" });
        await on.end(holder.ask(T, "Wait."));
        await on.settled();
        const other = on.host({ agent: agentOf(["Done.", "Done."], { tools }), holder: "web_2" });
        isSent = true;
        expect(await on.end(call(other))).toMatchObject(answer as object);
        dying.crash();
        other.work();
        await on.pass(13_000);
        const entries = (await on.store.load(T))?.toArray() ?? [];
        expect(entries.filter(isEffect)).toHaveLength(1);
        expect(entries.filter(({ payload }) => "end" in payload)).toHaveLength(1);
        expect(await on.store.pending(T)).toEqual([]);
        expect(await on.store.verify(T)).toMatchObject({ ok: true });
        await on.end(other.stop());
      },
    );
  },
);
