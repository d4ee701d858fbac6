import type { AnyAgent } from "heddle";
import { AgentHost, AgentServer, defineAgent } from "heddle";
import { scriptedModel } from "heddle/testing";
import { describe, expect, test, vi } from "vitest";
import { anything, failureOf, gate, type Stage, stage } from "../support/stage.ts";

/** A store whose methods of these names never answer, from when somebody says so. */
async function hanging(): Promise<{ readonly on: Stage; readonly hung: Set<string>; readonly renewed: () => number }> {
  const hung = new Set<string>();
  let renewed = 0;
  const around = <Part extends object>(inner: Part): Part =>
    new Proxy(inner, {
      get(target, key) {
        const value: unknown = Reflect.get(target, key);
        if (typeof value === "object" && value !== null) return around(value); // leases
        if (typeof value !== "function") return value;
        return (...args: unknown[]) => {
          if (key === "renew") renewed += 1;
          return hung.has(String(key)) ? new Promise(() => undefined) : Reflect.apply(value, target, args);
        };
      },
    });
  return { on: await stage({ around }), hung, renewed: () => renewed };
}

const never = (): Promise<never> => new Promise(() => undefined);

async function isFree(on: Stage): Promise<boolean> {
  const claim = on.store.claim(on.threadId, { holder: "test", ttlMs: 1_000 });
  return claim.then(
    () => true,
    () => false,
  );
}

describe("stop ends, whatever the store does", () => {
  test.each([["append"], ["release"], ["load"]])("when its %s never answers", async (method) => {
    const { on, hung, renewed } = await hanging();
    const seen = gate<string>();
    const tools = { look: { inputSchema: anything, execute: () => seen.promise } };
    const server = await on.start({ script: [{ calls: [{ name: "look" }] }, "Seen."], tools });
    const request = await on.end(server.ask("Look."));
    await on.settled();
    hung.add(method);
    seen.resolve("seen");
    await on.settled();
    const before = on.ports.clock();
    await on.end(server.stop({ graceMs: 100 }));
    expect(on.ports.clock() - before).toBeLessThanOrEqual(100 + 10_000);
    expect((await request.result.catch(({ code }) => ({ code }))) ?? {}).toMatchObject(
      method === "append" ? { code: "request_suspended" } : { text: "Seen." },
    );
    if (method !== "load")
      expect(on.warnings.join()).toMatch(/Thread thread_t: the store did not answer within 10000 ms/);
    const renewals = renewed();
    await on.pass(60_000);
    expect(renewed()).toBe(renewals);
    hung.clear();
    expect(await isFree(on)).toBe(true);
  });

  test("also that of a host, for all its threads", async () => {
    const { on, hung } = await hanging();
    const agent = defineAgent({ model: scriptedModel(["Hi.", { hang: true }]) });
    const { store, ports, warnings } = on;
    const host = AgentHost.create({ agent, store, ports, warn: (message) => void warnings.push(message) });
    await on.end((await on.end(host.ask("thread_a", "Hi."))).result);
    await on.end(host.ask("thread_b", "Hi."));
    hung.add("append").add("release");
    await on.end(host.stop({ graceMs: 0 }));
    expect(warnings).toHaveLength(2);
    expect(host.size).toBe(0);
  });

  test("also while a thread is being started", async () => {
    const { on, hung, renewed } = await hanging();
    const host = AgentHost.create({
      agent: defineAgent({ model: scriptedModel([]) }),
      store: on.store,
      ports: on.ports,
    });
    hung.add("load");
    const got = failureOf(host.get("thread_a"));
    await on.settled();
    await on.end(host.stop());
    expect((await got).code).toBe("server_stopped");
    const renewals = renewed();
    await on.pass(60_000);
    expect(renewed()).toBe(renewals);
  });
});

describe("a start that the caller's own code never lets end", () => {
  const left = async (): Promise<Stage> => {
    const on = await stage();
    const first = await on.start({ script: [{ hang: true }] });
    await on.end(first.ask("Go."));
    await on.end(first.stop({ graceMs: 0 }));
    return on;
  };
  const prompted = defineAgent({ model: scriptedModel([]), systemPrompt: never }) as AnyAgent;
  const plain = defineAgent({ model: scriptedModel([]) }) as AnyAgent;

  test.each([
    ["a prompt", prompted, undefined],
    ["a context", plain, never],
  ])("%s: ends when its signal is aborted, and another process can claim the thread", async (_, agent, context) => {
    const on = await left();
    const { store, threadId, ports } = on;
    const controller = new AbortController();
    const start = failureOf(
      AgentServer.start({ agent, store, threadId, ports, signal: controller.signal, ...(context && { context }) }),
    );
    await on.settled();
    expect(await isFree(on)).toBe(false);
    controller.abort();
    expect((await start).code).toBe("server_stopped");
    await on.settled();
    expect(await isFree(on)).toBe(true);
  });

  test("ends when its host stops", async () => {
    const on = await left();
    const host = AgentHost.create({ agent: prompted, store: on.store, ports: on.ports });
    const got = failureOf(host.get(on.threadId));
    await on.settled();
    await on.end(host.stop());
    expect((await got).code).toBe("server_stopped");
    expect(await isFree(on)).toBe(true);
  });

  test("is not what it waits for where another has the thread: the store is asked no more when its host stops", async () => {
    const on = await left();
    await on.store.claim(on.threadId, { holder: "another", ttlMs: 60_000 });
    const claim = vi.spyOn(on.store, "claim");
    const host = AgentHost.create({ agent: plain, store: on.store, ports: on.ports, claimWaitMs: 90_000 });
    const got = failureOf(host.get(on.threadId));
    await on.settled();
    await host.stop(); // without any time
    expect((await got).code).toBe("server_stopped");
    const asked = claim.mock.calls.length;
    await on.pass(100_000);
    expect([asked, claim.mock.calls.length]).toEqual([1, 1]);
    expect(await isFree(on)).toBe(true);
  });

  test("a signal that is aborted later, or before, does nothing to a server, or starts none", async () => {
    const on = await stage();
    const controller = new AbortController();
    const server = await on.start({ script: ["Hi."] }, { signal: controller.signal });
    controller.abort();
    expect((await on.end((await on.end(server.ask("Hi."))).result)).text).toBe("Hi.");
    await on.end(server.stop());
    expect((await failureOf(on.start({}, { signal: controller.signal }))).code).toBe("server_stopped");
    expect(await isFree(on)).toBe(true);
  });
});
