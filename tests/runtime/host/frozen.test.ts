import type { ThreadStore } from "heddle";
import { describe, expect, test } from "vitest";
import { agentOf, careful, house, PAY } from "./support/hosts.ts";

/** A host whose process stands still for longer than its claim of thread_1 lasts; meanwhile another one claims the thread. */
async function frozen(agent: ReturnType<typeof agentOf>) {
  const { host: make, end, store, ports } = await house();
  let frozenMs = 0;
  const monotonic = () => ports.monotonic() + frozenMs;
  const host = make({ agent, ports: { ...ports, monotonic }, claimWaitMs: 0 });
  const freeze = async (): Promise<number> => {
    await store.release("thread_1", 1);
    const { epoch } = await store.claim("thread_1", { holder: "two", ttlMs: 60_000 });
    frozenMs = 20_000;
    return epoch;
  };
  return { host, end, store, freeze };
}

describe("the first call of a host whose process was frozen", () => {
  test("asks on a claim of its own, where the thread is free again", async () => {
    const { host, end, store, freeze } = await frozen(agentOf(["One.", "Two."]));
    await end((await end(host.ask("thread_1", "Hi"))).result);
    await store.release("thread_1", await freeze());
    expect((await end((await end(host.ask("thread_1", "Again"))).result)).text).toBe("Two.");
    await end(host.stop());
  });

  test("says who has the thread, where another process holds it", async () => {
    const { host, end, freeze } = await frozen(agentOf(["One."]));
    await end((await end(host.ask("thread_1", "Hi"))).result);
    await freeze();
    const held = { code: "thread_held", holder: "two", retryable: true };
    await expect(end(host.ask("thread_1", "Again"))).rejects.toMatchObject(held);
    await end(host.stop());
  });

  test.each(["get", "resume", "approve"] as const)("%s resumes on a claim of its own", async (method) => {
    const { agent, ran } = careful([PAY, "Paid."]);
    const { host, end, store, freeze } = await frozen(agent);
    const waiting = await end(host.ask("thread_1", "Pay"));
    for await (const _event of waiting.events({ until: "waiting" }));
    await store.release("thread_1", await freeze());
    if (method === "get") await end((await end(host.get("thread_1"))).approve("call_p"));
    else if (method === "approve") await end(host.approve("thread_1", "call_p"));
    else {
      expect((await end(host.resume("thread_1")))?.state).toBe("waiting");
      await end(host.approve("thread_1", "call_p"));
    }
    expect((await end((await end(host.get("thread_1"))).result(waiting.id))).text).toBe("Paid.");
    expect(ran).toEqual(["call_p"]);
    await end(host.stop());
  });

  test("asks also where its claim was taken before it was old", async () => {
    const { host, end, store } = await frozen(agentOf(["One.", "Two."]));
    await end((await end(host.ask("thread_1", "Hi"))).result);
    await store.release("thread_1", 1);
    const { epoch } = await store.claim("thread_1", { holder: "two", ttlMs: 60_000 });
    await store.release("thread_1", epoch);
    expect((await end((await end(host.ask("thread_1", "Again"))).result)).text).toBe("Two.");
    await end(host.stop());
  });
});

describe("a host whose claims are lost before its call is written", () => {
  /** Another process takes each of the first claims. */
  function contested(
    store: ThreadStore,
    losses: number,
  ): { readonly store: ThreadStore; readonly claims: () => number } {
    let claims = 0;
    const claim: ThreadStore["claim"] = async (threadId, options) => {
      const claimed = await store.claim(threadId, options);
      if (++claims > losses) return claimed;
      const other = await store.claim(threadId, { holder: options.holder, ttlMs: 1_000 });
      await store.release(threadId, other.epoch);
      return claimed;
    };
    return { store: Object.create(store, { claim: { value: claim } }), claims: () => claims };
  }

  test("claims again, and asks once", async () => {
    const { host: make, end, store } = await house();
    const at = contested(store, 4);
    const host = make({ agent: agentOf(["Done."]), store: at.store });
    const request = await end(host.ask("thread_1", "Go."));
    expect((await end(request.result)).text).toBe("Done.");
    const asks = (await store.load("thread_1"))?.toArray().filter(({ payload }) => payload["role"] === "user");
    expect([at.claims(), asks?.length]).toEqual([5, 1]);
    await end(host.stop());
  });

  test("says so after five claims, and writes nothing", async () => {
    const { host: make, end, store } = await house();
    const at = contested(store, Number.POSITIVE_INFINITY);
    const host = make({ agent: agentOf([]), store: at.store });
    await expect(end(host.ask("thread_1", "Go."))).rejects.toMatchObject({ code: "claim_lost", retryable: true });
    expect([at.claims(), await store.load("thread_1")]).toEqual([5, undefined]);
    await end(host.stop());
  });
});
