import { type AgentHost, memoryStore, type ThreadStore } from "heddle";
import { describe, expect, test } from "vitest";
import { ASK, careful, house, PAY, realTime, SECRET } from "./support/hosts.ts";

const NOT_FOUND = { name: "StoreError", code: "thread_not_found", threadId: "thread_1" };

const T = "thread_1";

/** A copy of a thread, as an archive keeps it. */
async function copyOf(store: ThreadStore) {
  const copy = await store.load(T);
  if (copy === undefined) throw new Error("There is no thread.");
  return copy;
}

const DECISIONS = {
  approve: (host, of) => host.approve(of, "call_p"),
  deny: (host, of) => host.deny(of, "call_p"),
  answer: (host, of) => host.answer(of, "call_q", 1),
} satisfies Record<string, (host: AgentHost, of: string) => Promise<void>>;

/** A thread with a request that waits, and another host of the same store. */
async function waiting(store?: ThreadStore) {
  const at = await house(store, realTime());
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

describe("a thread that waits, and was deleted and restored", () => {
  test.each([0, 1])("is served from the store again, after %s calls for the deleted thread", async (calls) => {
    const { at, host, request, ran } = await waiting();
    const failed = request.result.catch((error) => error);
    const copy = await copyOf(at.store);
    await at.store.delete(T);
    expect(await failed).toMatchObject({ failure: { code: "thread_not_found" } });
    for (let call = 0; call < calls; call++) await expect(host.approve(T, "call_p")).rejects.toMatchObject(NOT_FOUND);
    await at.store.save(copy);
    await host.approve(T, "call_p");
    await host.answer(T, "call_q", 1);
    expect((await host.result(T, request.id)).text).toBe("Done.");
    expect(ran).toEqual(["call_p"]);
    await host.stop();
  });

  test.each(["no call", "a message"])("while the host reads it again, with %s, gets no failure", async (what) => {
    const memory = memoryStore();
    let restore = async (): Promise<void> => undefined;
    const load: ThreadStore["load"] = async (...of) => {
      await restore();
      return memory.load(...of);
    };
    const { host, request, ran } = await waiting({ ...memory, load });
    const suspended = request.result.catch((error) => error);
    const copy = await copyOf(memory);
    restore = () => memory.save(copy);
    await memory.delete(T);
    const sent = what === "a message" ? host.steer(T, "Hurry.") : { accepted: true };
    expect(await suspended).toMatchObject({ code: "request_suspended" });
    expect(await sent).toMatchObject({ accepted: true });
    await host.approve(T, "call_p");
    await host.answer(T, "call_q", 1);
    expect((await host.result(T, request.id)).text).toBe("Done.");
    expect(ran).toEqual(["call_p"]);
    const entries = (await copyOf(memory)).toArray();
    expect(entries.filter(({ kind }) => kind === "error")).toEqual([]);
    await host.stop();
  });

  test.each(["its request fails", "a call fails"])("is free for other processes soon after %s", async (what) => {
    const at = await house();
    const host = at.host({ agent: careful([PAY]).agent });
    const request = await at.end(host.ask(T, "Pay"));
    await at.end(request.settled());
    const failed = request.result.catch((error) => error);
    await at.store.delete(T);
    await at.end(failed);
    if (what === "a call fails") {
      await at.pass(1_000);
      await at.end(expect(host.approve(T, "call_p")).rejects.toMatchObject(NOT_FOUND));
    }
    expect(await at.isFree(T)).toBe(false);
    await at.pass(1_000);
    expect(await at.isFree(T)).toBe(true);
    await at.end(host.stop());
  });
});
