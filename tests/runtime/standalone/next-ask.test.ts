import { memoryStore, react } from "heddle";
import { describe, expect, test } from "vitest";
import { anything, cast, codeOf } from "./support/runs.ts";

const pay = { inputSchema: anything, needsApproval: true, execute: () => "paid" };
const PAY = { calls: [{ id: "c1", name: "pay" }] };

describe("continue with a query", () => {
  test("asks next, on the log of the token", async () => {
    const { agent, model } = cast(["One.", { expect: "2?", text: "Two." }]);
    const first = await react.start("1?", agent);
    await first.result;
    const next = await react.continue(first.token ?? "", agent, { query: "2?" });
    const { text, thread } = await next.result;
    expect([text, thread.rev, next.requestId === first.requestId]).toEqual(["Two.", 4, false]);
    const last = await react.continue(next.token ?? "", agent);
    expect((await last.result).text).toBe("Two.");
    model.assertComplete();
  });

  test("asks next, on the thread in the store, also with an earlier token of the run", async () => {
    const store = memoryStore();
    const { agent } = cast([PAY, "Paid.", "Two.", "Three."], { tools: { pay } });
    const first = await react.start("Pay.", agent, { store, threadId: "t" });
    expect(await codeOf(first.result)).toBe("request_waiting");
    const { token = "" } = first;
    expect(await codeOf(react.continue(token, agent, { store, query: "2?" }))).toBe("busy");
    await (await react.continue(token, agent, { store, approve: ["c1"] })).result;
    expect((await (await react.continue(token, agent, { store, query: "2?" })).result).text).toBe("Two.");
    expect(
      (await store.load("t"))?.filterByKind("ai_message").filter(({ payload }) => payload.role === "user"),
    ).toHaveLength(2);
  });

  test("is refused while the run of a token with a log is open", async () => {
    const { agent } = cast([PAY], { tools: { pay } });
    const first = await react.start("Pay.", agent);
    await codeOf(first.result);
    expect(await codeOf(react.continue(first.token ?? "", agent, { query: "2?" }))).toBe("busy");
  });
});
