import { StoreError } from "heddle";
import { describe, expect, test } from "vitest";
import { spied } from "../support/spied-store.ts";
import { anything, eventsOf, failureOf, stage, told } from "../support/stage.ts";

const statusIn = async (on: Awaited<ReturnType<typeof stage>>) =>
  (await on.store.load(on.threadId))?.metadata["status"];

describe("a tool without execute", () => {
  test("that needs approval waits for it, and then for its answer", async () => {
    const on = await stage();
    const server = await on.start({
      script: [
        { calls: [{ name: "sign" }] },
        { expect: { endsWith: [{ results: [{ value: "signed" }] }] }, text: "Signed." },
      ],
      tools: { sign: { inputSchema: anything, needsApproval: true } },
    });
    const request = await on.end(server.ask("Sign."));
    await on.settled();
    expect((await failureOf(server.answer("call_1", "signed"))).code).toBe("not_waiting");
    await on.end(server.approve("call_1"));
    await on.settled();
    expect(request.state).toBe("waiting");
    await on.end(server.answer("call_1", "signed"));
    expect((await on.end(request.result)).text).toBe("Signed.");
    const kinds = (await eventsOf(request)).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === "answer_requested" || kind === "tool_started")).toEqual([
      "answer_requested",
    ]);
  });

  test("approved, and the process ends: it waits for its answer elsewhere", async () => {
    const on = await stage();
    const tools = { sign: { inputSchema: anything, needsApproval: true } };
    const server = await on.start({ script: [{ calls: [{ name: "sign" }] }], tools });
    await on.end(server.ask("Sign."));
    await on.settled();
    await on.end(server.approve("call_1"));
    await on.settled();
    await on.end(server.stop());
    const again = await on.start({ script: ["Signed."], tools });
    await on.settled();
    expect(again.request?.state).toBe("waiting");
    await on.end(again.answer("call_1", "signed"));
    expect(told(await on.log()).at(-1)).toMatch(/Signed/);
  });

  test("that needs approval still needs it when the process ended before it was asked", async () => {
    let trouble = false;
    const on = await stage({
      around: (store) => {
        const spy = spied(store);
        spy.trouble = (write, _n, [entry]) =>
          trouble && write === "append" && entry?.kind === "approval_requested"
            ? { error: () => new StoreError({ code: "store_closed", message: "gone" }) }
            : undefined;
        return spy.store;
      },
    });
    trouble = true;
    const tools = { sign: { inputSchema: anything, needsApproval: true } };
    const server = await on.start({ script: [{ calls: [{ name: "sign" }] }], tools });
    await on.end(server.ask("Sign."));
    await on.settled();
    await on.end(server.stop()).catch(() => undefined);
    trouble = false;
    const again = await on.start({ script: ["Signed."], tools });
    await on.settled();
    expect((await failureOf(again.answer("call_1", "signed"))).code).toBe("not_waiting");
    expect(told(await on.log()).at(-1)).toBe("approval_requested call_1");
  });

  test("makes the thread one that waits, and of no interest to a recovery", async () => {
    const on = await stage();
    const server = await on.start({
      script: [{ calls: [{ name: "pick" }] }, "Picked."],
      tools: { pick: { inputSchema: anything } },
    });
    const request = await on.end(server.ask("Pick."));
    await on.settled();
    expect(request.state).toBe("waiting");
    expect(await statusIn(on)).toBe("waiting");
    await on.end(server.answer("call_1", "blue"));
    await on.end(request.result);
    expect(await statusIn(on)).toBe("completed");
  });

  test("beside one that runs: the thread waits when that is done", async () => {
    const on = await stage();
    const slow = {
      inputSchema: anything,
      execute: () => new Promise((resolve) => on.ports.after(50, () => resolve("ok"))),
    };
    const server = await on.start({
      script: [{ calls: [{ name: "pick" }, { name: "slow" }] }, "Picked."],
      tools: { pick: { inputSchema: anything }, slow },
    });
    const request = await on.end(server.ask("Pick."));
    await on.settled();
    expect(await statusIn(on)).toBe("running");
    await on.pass(60);
    expect([request.state, await statusIn(on)]).toEqual(["waiting", "waiting"]);
    await on.end(server.answer("call_1", "blue"));
    expect((await on.end(request.result)).text).toBe("Picked.");
  });
});

test("a server lists the calls that wait for an outside answer, also after a restart", async () => {
  const on = await stage();
  const tools = {
    pay: { inputSchema: anything, needsApproval: true, execute: () => "paid" },
    pick: { inputSchema: anything },
    look: { inputSchema: anything, execute: () => "seen" },
  };
  const server = await on.start({
    script: [{ calls: [{ name: "pay", arguments: { to: "Ann" } }, { name: "pick" }, { name: "look" }] }],
    tools,
  });
  expect(await server.waiting()).toEqual([]);
  await on.end(server.ask("Pay."));
  await on.settled();
  const waiting = [
    { toolCallId: "call_1", name: "pay", arguments: { to: "Ann" }, kind: "approval" },
    { toolCallId: "call_2", name: "pick", arguments: {}, kind: "answer" },
  ];
  expect(await server.waiting()).toEqual(waiting);
  await on.end(server.stop());
  const again = await on.start({ script: ["Done."], tools });
  await on.settled();
  expect(await again.waiting()).toEqual(waiting);
  await on.end(again.deny("call_1"));
  expect(await again.waiting()).toEqual(waiting.slice(1));
  await on.end(again.cancel());
  expect(await again.waiting()).toEqual([]);
});
