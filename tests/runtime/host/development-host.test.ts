import { AgentHost, defineAgent, developmentHost, memoryStore, type ThreadStore } from "heddle";
import { scriptedModel } from "heddle/testing";
import { afterEach, expect, test, vi } from "vitest";

afterEach(() => vi.unstubAllEnvs());

let keys = 0;
const newKey = (): string => `key_${++keys}`;

/** A claim that waits is refused at once, and a lease outlives the test. */
function hostOn(store: ThreadStore, answer: string): AgentHost {
  const agent = defineAgent({ model: scriptedModel([answer, { hang: true }]) });
  return AgentHost.create({ agent, store, leaseTtlMs: 3_600_000, claimWaitMs: 0, idleMs: 3_600_000 });
}

async function said(host: AgentHost, words: string): Promise<string> {
  return (await (await host.ask("thread_1", words)).result).text;
}

test("the next host has the threads of the one before, also the one whose request runs", async () => {
  const key = newKey();
  const make = (answer: string) => developmentHost(key, (before) => hostOn(before?.store ?? memoryStore(), answer));
  const first = await make("One.");
  expect(await said(first, "1?")).toBe("One.");
  const open = await first.ask("thread_1", "2?");

  const second = await make("Two.");
  await expect(open.result).rejects.toMatchObject({ code: "request_suspended" });
  expect((await (await second.resume("thread_1"))?.result)?.text).toBe("Two.");
  await second.stop();
});

test("a module that was evaluated before uses the newest host", async () => {
  const key = newKey();
  const store = memoryStore();
  const [first, second] = await Promise.all(
    ["One.", "Two."].map((answer) => developmentHost(key, () => hostOn(store, answer))),
  );
  expect(first).toBeInstanceOf(AgentHost);
  expect(await said(first ?? expect.fail(), "1?")).toBe("Two.");
  expect(second?.size).toBe(1);
  expect(first?.size).toBe(1);
  expect(first?.stopped.aborted).toBe(false);
  await first?.stop({ graceMs: 0 });
  expect(second?.stopped.aborted).toBe(true);
});

test("hosts of other keys keep running", async () => {
  const store = memoryStore();
  const first = await developmentHost(newKey(), () => hostOn(store, "One."));
  const other = await developmentHost(newKey(), () => hostOn(memoryStore(), "Two."));
  expect(first.stopped.aborted).toBe(false);
  await first.stop();
  await other.stop();
});

test("if create fails, its error is the caller's, and the next evaluation has the store", async () => {
  const key = newKey();
  const first = await developmentHost(key, () => hostOn(memoryStore(), "One."));
  await said(first, "1?");
  const broken = new Error("broken edit");
  await expect(developmentHost(key, () => Promise.reject(broken))).rejects.toBe(broken);
  const next = await developmentHost(key, (before) => hostOn(before?.store ?? expect.fail(), "Two."));
  expect(await said(next, "2?")).toBe("Two.");
  expect((await next.thread("thread_1")).entryCount).toBe(4);
  await next.stop();
});

test("in production each call makes a host, and stops none", async () => {
  vi.stubEnv("NODE_ENV", "production");
  const key = newKey();
  const made: AgentHost[] = [];
  const create = (before: AgentHost | undefined): AgentHost => {
    expect(before).toBeUndefined();
    made.push(hostOn(memoryStore(), "One."));
    return made.at(-1) ?? expect.fail();
  };
  const hosts = [await developmentHost(key, create), await developmentHost(key, create)];
  expect(hosts[0]).toBe(made[0]);
  expect(hosts[1]).toBe(made[1]);
  expect(hosts[0]?.stopped.aborted).toBe(false);
  for (const host of hosts) await host.stop();
});

test("an empty key is refused", async () => {
  const refused = await developmentHost("", () => hostOn(memoryStore(), "One.")).catch((error: unknown) => error);
  expect(refused).toMatchObject({ code: "invalid_id" });
});
