import { memoryStore, type ThreadStore } from "heddle";
import { sqliteStore } from "heddle/sqlite";
import { describe, expect, test } from "vitest";
import { fastFile } from "../../support/temp-folder.ts";
import { agentOf, anything, house } from "./support/hosts.ts";

const pay = { inputSchema: anything, needsApproval: true, execute: () => "paid" };
const stores: readonly [string, () => ThreadStore][] = [
  ["memory", () => memoryStore()],
  ["SQLite", () => sqliteStore(fastFile())],
];

describe.each(stores)("methods of a server on a host, on %s", (_name, open) => {
  test("act on the thread that is named", async () => {
    const { host: make, end } = await house(open());
    const host = make({ agent: agentOf(["One.", "Two.", "Three."], { modes: { plan: {} } }) });
    const first = await end(host.ask("thread_1", "1?"));
    await end(first.result);
    await end(host.ask("thread_2", "Other?").then(({ result }) => result));
    expect((await end(host.result("thread_1", first.id))).text).toBe("One.");
    const answers = [
      await end(host.setMode("thread_1", "plan")),
      await end(host.setSystemPrompt("thread_1", "Be brief.")),
      await end(host.setContextPolicy("thread_1", { maxTurns: 5 })),
      await end(host.registerTool("thread_1", "pay", pay)),
      await end(host.unregisterTool("thread_1", "pay")),
      await end(host.setModel("thread_1", null)),
      await end(host.branch("thread_1", { at: (await host.thread("thread_1")).at(1)?.id ?? "" })),
      await end(host.reset("thread_1")),
    ];
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => "applied"));
    expect(await end(host.finish("thread_1"))).toBe(false);
    expect((await host.thread("thread_2")).entryCount).toBe(2);
    expect((await host.thread("thread_1")).entryCount).toBe(2 + answers.length);
    await end(host.stop());
  });

  test("say which process holds the thread when that process takes no calls, and take the call back", async () => {
    const store = open();
    const { host: make, end } = await house(store);
    const clock = await store.claim("thread_1", { holder: "web_1", ttlMs: 1e9 });
    const other = make({ agent: agentOf([], { tools: { pay } }), holder: "web_2" });
    const calls = {
      revokeRule: () => other.revokeRule("thread_1", "rule_1"),
      setMode: () => other.setMode("thread_1", null),
      finish: () => other.finish("thread_1", "req_1"),
      ask: () => other.ask("thread_1", "Hi"),
    };
    for (const [name, call] of Object.entries(calls)) {
      const error: unknown = await end<unknown>(call()).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: "thread_held", holder: "web_1", retryable: true });
      expect(String(error)).toContain(
        `Call ${name} in the process of web_1, or later, when it has released the thread.`,
      );
    }
    expect(await store.pending("thread_1")).toEqual([]);
    await store.release("thread_1", clock.epoch);
    await end(other.stop());
  });
});
