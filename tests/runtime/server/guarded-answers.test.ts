import { AgentHost, defineAgent, StoreError } from "heddle";
import { faultStore, type StoreWrite, scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { spied } from "../support/spied-store.ts";
import { anything, eventsOf, failureOf, gate, proveAll, stage, told } from "../support/stage.ts";

const script = [{ calls: [{ name: "sign" }] }];
const statusIn = async (on: Awaited<ReturnType<typeof stage>>) =>
  (await on.store.load(on.threadId))?.metadata["status"];

const deny = { deny: "not today" } as const;
const ways = [
  {
    name: "by guardTools",
    config: (says: () => boolean) => ({ guardTools: () => (says() ? ("allow" as const) : deny) }),
  },
  {
    name: "by its needsApproval",
    config: (says: () => boolean) => ({ tools: { sign: { inputSchema: anything, needsApproval: () => !says() } } }),
  },
];

describe.each(ways)("a deferred call that needs approval $name", ({ config }) => {
  const tools = { sign: { inputSchema: anything } };

  test("is asked about again when the process ended right after the model's answer", async () => {
    let isDead = false;
    const on = await stage({
      around: (store) => {
        const spy = spied(store);
        spy.trouble = () =>
          isDead ? { error: () => new StoreError({ code: "store_closed", message: "gone" }) } : undefined;
        return spy.store;
      },
    });
    const asked: string[] = [];
    const says = (allowed: boolean) => () => {
      asked.push(String(allowed));
      isDead = allowed;
      return allowed;
    };
    const first = await on.start({ script, tools, ...config(says(true)) });
    const request = await on.end(first.ask("Sign."));
    await failureOf(on.end(request.result));
    expect(told(await on.log())).toEqual(["ask Sign.", "calls call_1"]);
    isDead = false;
    await on.pass(20_000);
    const again = await on.start({ script: ["I may not."], tools, ...config(says(false)) });
    await on.settled();
    expect(asked).toEqual(["true", "false"]);
    expect((await failureOf(again.answer("call_1", "signed"))).code).toBe("not_waiting");
    const last = told(await on.log()).at(3); // behind the note of a second attempt
    expect(["result call_1", "approval_requested call_1"]).toContain(last);
    await proveAll(on.store, on.threadId);
  });

  test("is not asked about again when it waits already: it can be answered at once", async () => {
    const on = await stage();
    let times = 0;
    const allowed = config(() => ++times > 0);
    const first = await on.start({ script, tools, ...allowed });
    const request = await on.end(first.ask("Sign."));
    await on.end(eventsOf(request, { until: "waiting" }));
    expect(await statusIn(on)).toBe("waiting");
    await on.end(first.stop());
    const again = await on.start({ script: ["Signed."], tools, ...allowed });
    await again.answer("call_1", "signed");
    const taken = again.request;
    expect((await on.end(taken?.result ?? Promise.reject(new Error("no request")))).text).toBe("Signed.");
    expect(times).toBe(1);
    expect(told(await on.log())).toEqual([
      "ask Sign.",
      "calls call_1",
      "tool_started call_1",
      "result call_1",
      "says Signed. end:completed",
    ]);
    await proveAll(on.store, on.threadId);
  });
});

test("a deferred call cannot be answered while it waits for approval", async () => {
  const on = await stage();
  const verdict = gate<"allow">();
  const config = { tools: { sign: { inputSchema: anything } }, guardTools: () => verdict.promise };
  const server = await on.start({ script: [...script, "Signed."], ...config });
  const request = await on.end(server.ask("Sign."));
  await on.settled();
  expect(await statusIn(on)).toBe("running");
  const agent = defineAgent({ model: scriptedModel([]), ...config });
  const elsewhere = AgentHost.create({ agent, store: on.store, ports: on.ports });
  const answered = elsewhere.answer(on.threadId, "call_1", "signed");
  expect((await failureOf(on.end(answered))).code).toBe("not_waiting");
  verdict.resolve("allow");
  await on.settled();
  expect(await statusIn(on)).toBe("waiting");
  await on.end(elsewhere.answer(on.threadId, "call_1", "signed"));
  expect((await on.end(request.result)).text).toBe("Signed.");
  await on.end(elsewhere.stop());
});

describe("a deferred call of a tool that a mode has a rule against", () => {
  const rules = [{ tool: "sign", verdict: "deny", pattern: { as: "king" } }] as const;
  const config = { tools: { sign: { inputSchema: anything } }, modes: { safe: { rules } } };
  const signing = (as: string) => [{ calls: [{ id: "call_1", name: "sign", arguments: { as } }] }];

  test("is denied by the next process too, where the first has ended right after the model's answer", async () => {
    const on = await stage();
    let isAsked = false;
    const plan = ({ kinds }: Pick<StoreWrite, "kinds">) => {
      const isAnswer = isAsked && kinds.includes("ai_message");
      isAsked ||= kinds.includes("ai_message");
      return isAnswer ? ({ type: "crash", when: "after" } as const) : undefined;
    };
    const store = faultStore(on.store, { plan });
    const first = await on.start({ script: signing("king"), ...config }, { store });
    const { id } = await on.end(first.ask("Sign.", { mode: "safe" }));
    await on.settled();
    expect(told(await on.log())).toEqual(["ask Sign.", "calls call_1"]);
    expect(await statusIn(on)).toBe("running");
    await on.pass(20_000);
    const next = await on.start({ script: ["I may not."], ...config });
    expect((await on.end(next.result(id))).text).toBe("I may not.");
    expect(told(await on.log())).toContain("approval_resolved call_1");
  });

  test("waits for its answer where the rule does not cover it, and the next process takes the answer at once", async () => {
    const on = await stage();
    const first = await on.start({ script: signing("clerk"), ...config });
    const request = await on.end(first.ask("Sign.", { mode: "safe" }));
    await on.end(eventsOf(request, { until: "waiting" }));
    expect(await statusIn(on)).toBe("waiting");
    await on.end(first.stop());
    const next = await on.start({ script: ["Signed."], ...config });
    await next.answer("call_1", "signed");
    expect((await on.end(next.result(request.id))).text).toBe("Signed.");
  });
});
