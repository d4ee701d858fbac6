import { expect, test } from "vitest";
import { agentOf, anything, house } from "./support/hosts.ts";

const r1 = { requestId: "r1" } as const;

test("a request that runs in another process is followed there, and other content is refused", async () => {
  const { host: make, end } = await house();
  const { promise: opened, resolve: open } = Promise.withResolvers<string>();
  const tools = { wait: { inputSchema: anything, execute: () => opened } };
  const one = make({ agent: agentOf([{ calls: [{ name: "wait" }] }, "Done."], { tools }), holder: "one" });
  await end(one.ask("thread_1", "Hi", r1));
  const two = make({ agent: agentOf([], { tools }) });
  const repeated = await end(two.ask("thread_1", "Hi", r1));
  expect(repeated.id).toBe("r1");
  await expect(end(two.ask("thread_1", "Ho", r1))).rejects.toMatchObject({ code: "request_id_reused" });
  open("opened");
  expect((await end(repeated.result)).text).toBe("Done.");
  await end(Promise.all([one.stop({ graceMs: 0 }), two.stop()]));
});

test("a request that has ended is answered from the log, while another process holds the thread", async () => {
  const { host: make, end, ports } = await house();
  const one = make({ agent: agentOf(["Hello.", { hang: true }]) });
  await end((await end(one.ask("thread_1", "Hi", r1))).result);
  await end(one.ask("thread_1", "More"));
  const two = make({ agent: agentOf([]) });
  const before = ports.clock();
  expect((await end((await end(two.ask("thread_1", "Hi", r1))).result)).text).toBe("Hello.");
  expect(ports.clock() - before).toBeLessThan(1_000);
  await end(Promise.all([one.stop({ graceMs: 0 }), two.stop()]));
});

test("a request that the log does not know waits for the claim", async () => {
  const { host: make, end, store, pass } = await house();
  const { epoch } = await store.claim("thread_1", { holder: "one", ttlMs: 60_000 });
  const host = make({ agent: agentOf(["Hello."]) });
  const asked = host.ask("thread_1", "Hi", r1);
  await pass(2_000);
  await store.release("thread_1", epoch);
  expect((await end((await end(asked)).result)).text).toBe("Hello.");
  await end(host.stop());
});
