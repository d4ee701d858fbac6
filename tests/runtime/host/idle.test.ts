import type { AnyAgent, HostOptions } from "heddle";
import { describe, expect, test } from "vitest";
import { gate } from "../support/stage.ts";
import { ASK, agentOf, anything, house } from "./support/hosts.ts";

/** A host that counts the checks of whether a thread is idle: its timers of `idleMs`. */
async function counted(agent: AnyAgent, idleMs: number) {
  const at = await house();
  let checks = 0;
  const ports: HostOptions<AnyAgent>["ports"] = {
    ...at.ports,
    after: (ms, run) => {
      if (ms === idleMs) checks += 1;
      return at.ports.after(ms, run);
    },
  };
  return { ...at, host: at.host({ agent, ports, idleMs }), checks: () => checks };
}

function slowAgent() {
  const slow = gate();
  const execute = () => slow.promise.then(() => "slow");
  const tools = { slow: { inputSchema: anything, execute } };
  const agent = agentOf([{ calls: [{ id: "call_s", name: "slow" }] }, "Done."], { tools, toolTimeoutMs: 3_600_000 });
  return { agent, slow };
}

describe.each([0, 7])("with idleMs %i", (idleMs) => {
  test("a running request is not polled, and its thread is released after its end", async () => {
    const { agent, slow } = slowAgent();
    const { host, checks, pass, end, settled, isFree } = await counted(agent, idleMs);
    const request = await end(host.ask("thread_1", "Go"));
    await pass(idleMs + 1);
    const before = checks();
    await pass(60_000);
    expect([checks() - before, host.size]).toEqual([0, 1]);
    slow.resolve();
    await settled();
    expect(request.state).toBe("done");
    await pass(idleMs);
    expect([host.size, await isFree("thread_1")]).toEqual([0, true]);
    await end(host.stop());
  });

  test("a waiting request is not polled while its events are read, and released when they no longer are", async () => {
    const { host, checks, pass, end, isFree } = await counted(
      agentOf([ASK, "Thanks."], { tools: { ask: { inputSchema: anything } } }),
      idleMs,
    );
    const request = await end(host.ask("thread_1", "Hi"));
    const events = request.events()[Symbol.asyncIterator]();
    await events.next();
    await pass(idleMs + 1);
    const before = checks();
    await pass(60_000);
    expect([checks() - before, host.size, request.state]).toEqual([0, 1, "waiting"]);
    await events.return?.();
    await pass(idleMs);
    expect([host.size, await isFree("thread_1")]).toEqual([0, true]);
    await end(host.stop());
  });

  test("a waiting request whose result is awaited keeps its thread until its end", async () => {
    const { host, checks, pass, end } = await counted(
      agentOf([ASK, "Thanks."], { tools: { ask: { inputSchema: anything } } }),
      idleMs,
    );
    const request = await end(host.ask("thread_1", "Hi"));
    const result = request.result;
    await pass(idleMs + 1);
    const before = checks();
    await pass(60_000);
    expect([checks() - before, host.size]).toEqual([0, 1]);
    await end(host.answer("thread_1", "call_q", "yes"));
    expect((await end(result)).text).toBe("Thanks.");
    await pass(idleMs);
    expect(host.size).toBe(0);
    await end(host.stop());
  });
});

test("a host that stops while a request runs keeps no timer", async () => {
  const { agent } = slowAgent();
  const { host, checks, pass, end } = await counted(agent, 0);
  await end(host.ask("thread_1", "Go"));
  await pass(1);
  await end(host.stop({ graceMs: 0 }));
  const before = checks();
  await pass(60_000);
  expect([checks() - before, host.size]).toEqual([0, 0]);
});
