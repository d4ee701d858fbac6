import { expect, test } from "vitest";
import { agentOf, house } from "./support/hosts.ts";

const r1 = { requestId: "r1" } as const;

test("a request that runs in another process is refused at once, and the error says so", async () => {
  const { host: make, end, ports } = await house();
  const one = make({ agent: agentOf([{ hang: true }]), holder: "one" });
  await end(one.ask("thread_1", "Hi", r1));
  const two = make({ agent: agentOf([]) });
  const before = ports.clock();
  const held = {
    code: "thread_held",
    holder: "one",
    requestId: "r1",
    message: expect.stringContaining("Request r1 is known"),
  };
  await expect(end(two.ask("thread_1", "Hi", r1))).rejects.toMatchObject(held);
  expect(ports.clock() - before).toBeLessThan(1_000);
  await expect(end(two.ask("thread_1", "Ho", r1))).rejects.toMatchObject({ code: "request_id_reused" });
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
