import type { AgentHost } from "heddle";
import { describe, expect, test } from "vitest";
import { ASK, careful, house, PAY, realTime, SECRET } from "./support/hosts.ts";

const NOT_FOUND = { name: "StoreError", code: "thread_not_found", threadId: "thread_1" };

const DECISIONS = {
  approve: (host, of) => host.approve(of, "call_p"),
  deny: (host, of) => host.deny(of, "call_p"),
  answer: (host, of) => host.answer(of, "call_q", 1),
} satisfies Record<string, (host: AgentHost, of: string) => Promise<void>>;

/** A thread with a request that waits, and another host of the same store. */
async function waiting() {
  const at = await house(undefined, realTime());
  const { agent, ran } = careful([{ calls: [...PAY.calls, ...ASK.calls] }, "Done."], { tokenSecret: SECRET });
  const host = at.host({ agent });
  const request = await host.ask("thread_1", "Pay");
  let token = "";
  for await (const event of request.events({ until: "waiting" })) {
    if (event.kind === "checkpoint") token = event.data.token;
  }
  return { at, agent, host, request, token, ran };
}

describe.each(Object.entries(DECISIONS))("%s after the thread was deleted is thread_not_found", (_, decide) => {
  test("where the request waits, also the second time", async () => {
    const { at, host, request, ran } = await waiting();
    const failed = request.result.catch((error) => error);
    await at.store.delete("thread_1");
    await expect(decide(host, "thread_1")).rejects.toMatchObject(NOT_FOUND);
    expect(await failed).toMatchObject({ code: "request_failed", failure: { code: "thread_not_found" } });
    await expect(decide(host, "thread_1")).rejects.toMatchObject(NOT_FOUND);
    expect(ran).toEqual([]);
    expect(await at.store.load("thread_1")).toBe(undefined);
    await host.stop();
  });

  test("beside the host that has it, and where it was released", async () => {
    const { at, agent, host } = await waiting();
    const other = at.host({ agent });
    await at.store.delete("thread_1");
    await expect(decide(other, "thread_1")).rejects.toMatchObject(NOT_FOUND);
    await host.stop();
    await expect(decide(other, "thread_1")).rejects.toMatchObject(NOT_FOUND);
    await other.stop();
  });

  test("with a token of its request", async () => {
    const { at, agent, host, token } = await waiting();
    await at.store.delete("thread_1");
    await expect(decide(host, token)).rejects.toMatchObject(NOT_FOUND);
    await host.stop();
    const other = at.host({ agent });
    await expect(decide(other, token)).rejects.toMatchObject(NOT_FOUND);
    await expect(other.resume(token)).rejects.toMatchObject(NOT_FOUND);
    await other.stop();
  });
});

test("a token of a thread that was deleted and begun again is superseded", async () => {
  const { at, agent, host, token } = await waiting();
  await host.stop();
  await at.store.delete("thread_1");
  await at.store.append("thread_1", { kind: "note" });
  const other = at.host({ agent });
  await expect(other.resume(token)).rejects.toMatchObject({ code: "token_superseded" });
  await other.stop();
});
