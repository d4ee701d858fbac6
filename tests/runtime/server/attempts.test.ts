import { type AgentRequest, defineAgent } from "heddle";
import { type FaultPlan, type FaultStore, faultStore, scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { decideByEntry } from "../../../src/runtime/host/decide-by-entry.ts";
import { toAll } from "../support/recovery-tools.ts";
import { anything, failureOf, type Stage, stage, told } from "../support/stage.ts";

type Config = NonNullable<Parameters<Stage["start"]>[0]>;

/** Starts processes that take the thread over at once, and lets them die: nothing that they still do reaches the store. */
function processes(on: Stage) {
  let dying: FaultStore | undefined;
  return {
    start: (config: Config) => {
      const store = faultStore(on.store, { after: on.ports.after });
      dying = store;
      return on.start(config, { store, holder: "the same" });
    },
    die: async () => {
      dying?.crash();
      await on.settled();
    },
  };
}

const pay = { inputSchema: anything, needsApproval: true, execute: () => "paid" };

describe("a request whose work ends its process", () => {
  test("runs a repeatable tool in five processes, and then fails", async () => {
    const on = await stage();
    const { start, die } = processes(on);
    let runs = 0;
    const boom = { inputSchema: anything, repeatable: true, execute: () => new Promise(() => (runs += 1)) };
    const tools = { boom } as never;
    const first = await start({ script: [{ calls: [{ id: "b", name: "boom" }] }], tools });
    const { id } = await on.end(first.ask("Go."));
    await on.settled();
    for (let life = 2; life <= 12; life++) {
      await die();
      const server = await start({ script: [], tools });
      await on.settled();
      if (server.request !== undefined) continue;
      const { failure } = await failureOf(server.result(id));
      expect(failure?.code).toBe("attempts_exhausted");
      break;
    }
    expect(runs).toBe(5);
    expect((await on.log()).at(-1)?.payload).toMatchObject({ code: "attempts_exhausted", end: { status: "failed" } });
    await toAll(on.store, on.threadId);
  });

  test("waits between the attempts of a call as its agent says, and the next process resumes with the next one", async () => {
    const on = await stage();
    const { start, die } = processes(on);
    const down = { error: { status: 503 } };
    const config = { modelRetryBackoffMs: 40, modelRetryBackoffFactor: 3 };
    const waits: number[] = [];
    const listen = async (request: AgentRequest): Promise<void> => {
      for await (const event of request.events()) if (event.kind === "llm_retried") waits.push(event.data.waitMs);
    };
    const first = await on.end((await start({ script: [down, down, { hang: true }], ...config })).ask("Go."));
    void listen(first);
    await on.pass(1_000);
    await die();
    const second = await start({ script: [down, "Done."], ...config });
    if (second.request !== undefined) void listen(second.request);
    expect((await on.end(second.result(first.id))).text).toBe("Done.");
    expect(waits.map((ms) => ms * 2)).toEqual([40, 120, 40 * 3 ** 3]); // the third attempt has ended with its process
  });

  test("begins an answer that is longer than a process lives as often as maxAttempts says", async () => {
    const on = await stage();
    const { start, die } = processes(on);
    const config = { script: [{ text: "One", hang: true }], maxAttempts: 2 };
    const { id } = await on.end((await start(config)).ask("Go."));
    await on.settled();
    await die();
    const second = await start(config);
    await on.settled();
    expect(second.request?.id).toBe(id);
    await die();
    const third = await start({ ...config, script: ["Here."] });
    expect((await failureOf(third.result(id))).failure?.code).toBe("attempts_exhausted");
    expect((await on.end((await on.end(third.ask("Again."))).result)).text).toBe("Here.");
  });

  test("has its attempt in the log before the work begins again", async () => {
    const on = await stage();
    const { start, die } = processes(on);
    const seen: string[] = [];
    let run: () => Promise<unknown> = () => new Promise(() => undefined);
    const look = { inputSchema: anything, repeatable: true, execute: () => run() };
    const first = await start({ script: [{ calls: [{ id: "l", name: "look" }] }], tools: { look } });
    const { id } = await on.end(first.ask("Go."));
    await on.settled();
    await die();
    run = async () => {
      seen.push(...told(await on.log()));
      return "seen";
    };
    const second = await start({ script: ["Done."], tools: { look } });
    await on.end(second.result(id));
    expect(seen).toEqual(["ask Go.", "calls l", "note"]);
    expect((await on.log())[2]?.payload).toMatchObject({ attempt: 2 });
  });

  test("fails when stops have cut one model call as often as maxAttempts says, and an answer begins the count again", async () => {
    const on = await stage();
    const long = { text: "word ".repeat(200), hang: true };
    const config = { maxAttempts: 2, tools: { look: { inputSchema: anything, execute: () => "seen" } } };
    const cut = async (script: Config["script"]) => {
      const server = await on.start({ ...config, script: script ?? [] });
      const { id } = server.request ?? (await on.end(server.ask("Write.")));
      await on.settled();
      await on.end(server.stop({ graceMs: 0 }));
      return id;
    };
    const id = await cut([long]);
    await cut([{ calls: [{ name: "look" }] }, long]); // an answer, then a call that is cut
    await cut([{ hang: true }]); // also before its first word
    const last = await on.start({ ...config, script: ["Never."] });
    const { failure } = await failureOf(on.end(last.result(id)));
    expect([failure?.code, failure?.message]).toEqual(["attempts_exhausted", expect.stringContaining("cut")]);
    const cuts = (await on.log()).flatMap(({ payload }) => ("handedOver" in payload ? [payload.handedOver] : []));
    expect(cuts).toEqual([1, 2, 3].map(() => ({ begun: [], cut: true })));
    await on.end(last.stop());
  });

  test("counts no stop before a model call was sent: in a hook, or in the wait before a retry", async () => {
    const on = await stage();
    const down = { error: { status: 503 } };
    const ways: readonly Config[] = [
      { script: [down], modelRetryBackoffMs: 60_000 },
      { script: ["Never."], transformRequest: () => new Promise<never>(() => undefined) },
    ];
    const first = await on.start({ ...ways[0], maxAttempts: 1 });
    const { id } = await on.end(first.ask("Go."));
    await on.settled();
    await on.end(first.stop({ graceMs: 0 }));
    for (const way of [...ways, ...ways]) {
      const again = await on.start({ ...way, maxAttempts: 1 });
      expect(again.request?.id).toBe(id);
      await on.settled();
      await on.end(again.stop({ graceMs: 0 }));
    }
    const last = await on.start({ script: ["Done."], maxAttempts: 1 });
    expect((await on.end(last.result(id))).text).toBe("Done.");
    await on.end(last.stop());
  });

  test("counts no attempt where a server stops in a tool, where the request waits, or where a call was decided", async () => {
    const on = await stage();
    const { start, die } = processes(on);
    const look = { inputSchema: anything, repeatable: true, execute: () => new Promise<string>(() => undefined) };
    const tools = { pay, look };
    const config = { script: [{ calls: [{ id: "p", name: "pay" }] }, { hang: true }], tools, maxAttempts: 1 };
    const first = await start({ ...config, script: [{ calls: [{ id: "l", name: "look" }] }] });
    const { id } = await on.end(first.ask("Go."));
    await on.settled();
    await on.end(first.stop({ graceMs: 0 }));
    for (let n = 0; n < 8; n++) {
      const again = await start({ ...config, script: [] });
      expect(again.request?.id).toBe(id);
      await on.settled();
      await on.end(again.stop({ graceMs: 0 }));
    }
    look.execute = async () => "seen";
    const waiting = await start(config);
    await on.end(waiting.request?.settled() ?? Promise.reject(new Error("none")));
    for (let n = 0; n < 8; n++) {
      await die();
      expect((await start(config)).request?.id).toBe(id);
      await on.settled();
    }
    const last = await start({ ...config, script: ["Paid."] });
    await on.end(last.approve("p"));
    expect((await on.end(last.request?.result ?? last.result(id))).text).toBe("Paid.");
  });
});

describe('recover: "fail"', () => {
  const recover = "fail" as const;

  test("ends a request that a crash interrupted", async () => {
    const on = await stage();
    const { start, die } = processes(on);
    const { id } = await on.end((await start({ script: [{ hang: true }] })).ask("Go."));
    await on.settled();
    await die();
    const second = await start({ script: [], recover });
    expect((await failureOf(second.result(id))).failure?.code).toBe("request_interrupted");
  });

  test.each(["stops", "dies"])("leaves one that waits for an approval, though its server %s", async (how) => {
    const on = await stage();
    const { start, die } = processes(on);
    const config = { script: [{ calls: [{ id: "p", name: "pay" }] }], tools: { pay }, recover };
    const first = await start(config);
    const request = await on.end(first.ask("Go."));
    await on.end(request.settled());
    await (how === "dies" ? die() : on.end(first.stop()));
    const second = await start({ ...config, script: ["Paid."] });
    expect(second.request?.state).toBe("waiting");
    await on.end(second.approve("p"));
    expect((await on.end(second.result(request.id))).text).toBe("Paid.");
  });

  /** The agent of a process that does not hold the thread. */
  const agentWith = (tools: object) => defineAgent({ model: scriptedModel([]), tools: tools as never, recover });
  const locate = { inputSchema: anything };
  const asking = { calls: [{ id: "l", name: "locate" }] };
  const answer = { toolCallId: "l", output: "Bern" };

  test.each([
    [
      "approved",
      { tools: { pay }, script: [{ calls: [{ id: "p", name: "pay" }] }] },
      { toolCallId: "p", approved: true },
    ],
    [
      "denied",
      { tools: { pay }, script: [{ calls: [{ id: "p", name: "pay" }] }] },
      { toolCallId: "p", approved: false },
    ],
    ["answered", { tools: { locate }, script: [asking] }, answer],
  ])("leaves one whose call was %s in another process, and whose holder had died", async (_, config, decision) => {
    const on = await stage();
    const { start, die } = processes(on);
    const request = await on.end((await start({ ...config, recover })).ask("Go."));
    await on.end(request.settled());
    await die();
    const agent = agentWith(config.tools);
    await decideByEntry({ agent, store: on.store, threadId: on.threadId, ports: on.ports }, decision);
    const second = await start({ ...config, script: ["Done."], recover });
    expect((await on.end(second.result(request.id))).text).toBe("Done.");
  });

  test("ends one that a crash interrupted after such an answer was resumed", async () => {
    const on = await stage();
    const { start, die } = processes(on);
    const config = { tools: { locate }, recover };
    const request = await on.end((await start({ ...config, script: [asking] })).ask("Where?"));
    await on.end(request.settled());
    await die();
    const agent = agentWith(config.tools);
    await decideByEntry({ agent, store: on.store, threadId: on.threadId, ports: on.ports }, answer);
    await start({ ...config, script: [{ hang: true }] });
    await on.settled();
    await die();
    const third = await start({ ...config, script: [] });
    expect((await failureOf(third.result(request.id))).failure?.code).toBe("request_interrupted");
  });

  test("leaves one that a server handed over when it stopped", async () => {
    const on = await stage();
    const { start } = processes(on);
    const first = await start({ script: [{ hang: true }], recover });
    const { id } = await on.end(first.ask("Go."));
    await on.settled();
    await on.end(first.stop({ graceMs: 0 }));
    const second = await start({ script: ["Done."], recover });
    expect((await on.end(second.result(id))).text).toBe("Done.");
  });
});

/** How many entries do nothing but tell the time at work. */
async function timeNotes(on: Stage): Promise<number> {
  const isTime = ({ payload }: { readonly payload: object }) => "workedMs" in payload && !("handedOver" in payload);
  return (await on.log()).filter((entry) => entry.kind === "note" && isTime(entry)).length;
}

describe("totalTimeoutMs", () => {
  const totalTimeoutMs = 2_500;
  const work = { inputSchema: anything, repeatable: true };
  /** A model that calls the tool again and again. */
  const script = Array.from({ length: 40 }, (_, n) => ({ calls: [{ id: `w${n}`, name: "work" }] }));

  test.each(["stops", "dies"])("counts over all starts, where the server %s", async (how) => {
    const on = await stage();
    const { start, die } = processes(on);
    let life = 0;
    const execute = () => new Promise((resolve) => void on.ports.after(500, () => resolve("ok")));
    const config = { script, tools: { work: { ...work, execute } } as never, totalTimeoutMs, maxAttempts: 50 };
    const first = await start(config);
    const { id } = await on.end(first.ask("Go."));
    let server = first;
    for (; life < 12; life++) {
      await on.pass(750);
      if (server.request === undefined) break;
      await (how === "dies" ? die() : on.end(server.stop({ graceMs: 0 })));
      await on.pass(60_000); // what is down does not work
      server = await start(config);
    }
    const { failure } = await failureOf(on.end(server.result(id)));
    expect(failure?.code).toBe("request_timeout");
    // Each life is 750 ms long, and the last one ends before it is over.
    expect(life).toBe(3);
  });

  test.each([300, 700, 2_000])(
    "loses at most a tenth of the limit where a process dies after %i ms of one call",
    async (lifeMs) => {
      const on = await stage();
      const { start, die } = processes(on);
      const config = { script: [{ hang: true }], totalTimeoutMs, maxAttempts: 50 };
      let server = await start(config);
      const { id } = await on.end(server.ask("Go."));
      let deaths = 0;
      let workedMs = 0;
      for (; server.request !== undefined && deaths < 50; deaths++) {
        await on.pass(lifeMs);
        workedMs += lifeMs;
        if (server.request === undefined) break;
        await die();
        await on.pass(60_000); // what is down does not work
        server = await start(config);
      }
      const { failure } = await failureOf(on.end(server.result(id)));
      expect(failure?.code).toBe("request_timeout");
      expect(workedMs).toBeLessThanOrEqual(totalTimeoutMs + deaths * (totalTimeoutMs / 10) + lifeMs);
      expect(await timeNotes(on)).toBeLessThanOrEqual(11);
      await toAll(on.store, on.threadId);
    },
  );

  test("writes no note of its own where results come as often, and none while it waits", async () => {
    const on = await stage();
    const execute = () => new Promise((resolve) => void on.ports.after(200, () => resolve("ok")));
    const calls = [...script.slice(0, 10), { calls: [{ id: "p", name: "pay" }] }];
    const server = await on.start({
      script: calls,
      tools: { pay, work: { ...work, execute } } as never,
      totalTimeoutMs,
    });
    const request = await on.end(server.ask("Go."));
    await on.pass(60_000);
    expect(request.state).toBe("waiting");
    expect(await timeNotes(on)).toBe(0);
    await on.end(server.stop());
  });

  test("does not end a request whose time could not be noted", async () => {
    const on = await stage();
    const plan: FaultPlan = ({ kinds }) => (kinds?.[0] === "note" ? { type: "fail" } : undefined);
    const store = faultStore(on.store, { after: on.ports.after, plan });
    const server = await on.start({ script: [{ text: "Here.", delayMs: 2_000 }], totalTimeoutMs }, { store });
    const request = await on.end(server.ask("Go."));
    expect((await on.end(request.result)).text).toBe("Here.");
  });

  test("does not count the time that a request waits, also when it is taken over meanwhile", async () => {
    const on = await stage();
    const { start } = processes(on);
    const config = { tools: { pay }, totalTimeoutMs };
    const first = await start({ ...config, script: [{ calls: [{ id: "p", name: "pay" }], delayMs: 1_000 }] });
    const { id } = await on.end(first.ask("Go."));
    await on.pass(60_000);
    await on.end(first.stop());
    const second = await start({ ...config, script: [{ text: "Late.", delayMs: 2_000 }] });
    await on.pass(60_000);
    await on.end(second.approve("p"));
    const { failure } = await failureOf(on.end(second.result(id)));
    expect(failure?.code).toBe("request_timeout");
  });
});
