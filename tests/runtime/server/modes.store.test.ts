import { AgentHost, defineAgent, memoryStore } from "heddle";
import { recordedCall } from "heddle/core";
import { sqliteStore } from "heddle/sqlite";
import { type ScriptedStep, scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { fastFile } from "../../support/temp-folder.ts";
import { anything, failureOf, proveAll, type Stage, stage } from "../support/stage.ts";

const NODE = { holder: "node" };
const read = { inputSchema: anything, execute: () => "read" };
const edit = { inputSchema: anything, execute: () => "edited" };

function named(on: Stage, modelId: string, script: readonly ScriptedStep[] = []) {
  return scriptedModel(script, { provider: "test", modelId, after: on.ports.after });
}

/** An agent with the modes plan and build, and what its models were asked. */
function workshop(on: Stage, script: readonly ScriptedStep[] = ["1.", "2.", "3.", "4.", "5."]) {
  const [own, big, spare] = [named(on, "own", script), named(on, "big", script), named(on, "spare", script)];
  const modes = {
    plan: { systemPrompt: "Plan.", tools: ["read"], model: big, reasoning: "high" },
    build: { systemPrompt: "Build." },
    small: { tools: [] },
  } as const;
  const config = { model: own, models: { spare }, tools: { read, edit }, systemPrompt: "Own.", modes };
  const asked = () =>
    [own, big, spare].flatMap(({ modelId, requests }) =>
      requests.map(({ system, tools, options }) => [modelId, system, tools.join(" "), options["reasoning"]]),
    );
  return { config, asked, all: [own, big, spare] };
}

const PLAN = ["big", "Plan.", "read", "high"];
const BUILD = ["own", "Build.", "read edit", undefined];
const OWN = ["own", "Own.", "read edit", undefined];

const ask = async (on: Stage, server: Awaited<ReturnType<Stage["start"]>>, options: object = {}) =>
  on.end((await on.end(server.ask("Go.", options as never))).result);

describe.each([
  ["memory", () => memoryStore()],
  ["SQLite", () => sqliteStore(fastFile())],
])("a mode on %s", (_name, open) => {
  test("that was set holds in every process, until it is taken back, and an ask may have another", async () => {
    const on = await stage({ store: open() });
    const { config, asked } = workshop(on);
    const first = await on.start(config);
    expect((await on.end(first.setMode("plan", { by: "ann" }))).status).toBe("applied");
    await on.end(first.stop());
    const second = await on.start(config);
    await ask(on, second);
    await ask(on, second, { mode: "build" });
    await on.end(second.setMode(null));
    await ask(on, second);
    expect(asked()).toEqual([BUILD, OWN, PLAN]);
    const [setting, one] = await on.log();
    expect(setting?.payload).toMatchObject({ by: "ann", setting: { type: "mode", value: "plan" } });
    expect(one?.payload).not.toHaveProperty("options");
    expect((await on.log()).flatMap((entry) => recordedCall(entry)?.settingSeqs ?? [])).toEqual([0, 0]);
    expect(on.warnings.filter((warning) => warning.includes("prompt cache"))).toEqual([]);
    expect(await proveAll(on.store, on.threadId)).toBe(3);
  });

  test("of an ask is that of the process that takes its request over", async () => {
    const on = await stage({ store: open() });
    const first = await on.start(workshop(on, [{ hang: true }]).config, NODE);
    const { id } = await on.end(first.ask("Go.", { mode: "plan" }));
    const { config, asked } = workshop(on, [{ calls: [{ name: "edit" }] }, "Planned."]);
    const second = await on.start(config, NODE);
    expect((await on.end(second.result(id))).text).toBe("Planned.");
    expect(asked()).toEqual([PLAN, PLAN]);
    const result = (await on.log()).find(({ payload }) => "role" in payload && payload["role"] === "tool");
    expect(result?.payload).toMatchObject({ isError: true, content: expect.stringContaining("The tools are: read") });
    await proveAll(on.store, on.threadId);
  });

  test("of a lane comes before one of the thread, and the newer of a mode and a prompt or model counts", async () => {
    const on = await stage({ store: open() });
    const { config, asked, all } = workshop(on);
    const server = await on.start(config);
    const seen = async (): Promise<unknown> => {
      const before = all.map(({ requests }) => requests.length);
      await ask(on, server);
      const [now] = all.flatMap(({ modelId, requests }, index) =>
        requests.slice(before[index]).map(({ system }) => `${modelId} ${system}`),
      );
      return now;
    };
    await on.end(server.setSystemPrompt("Set."));
    await on.end(server.setModel("spare"));
    expect(await seen()).toBe("spare Set.");
    await on.end(server.setMode("plan"));
    expect(await seen()).toBe("big Plan.");
    await on.end(server.setSystemPrompt("Newer."));
    expect(await seen()).toBe("big Newer.");
    await on.end(server.setMode("build", { lane: "default" }));
    expect(await seen()).toBe("spare Build.");
    await on.end(server.setModel("test:own", { lane: "default" }));
    expect(await seen()).toBe("own Build.");
    expect(asked()).toHaveLength(5);
    await proveAll(on.store, on.threadId);
  });

  test("that the agent of the next process lacks fails the request, which could call other tools", async () => {
    const on = await stage({ store: open() });
    const first = await on.start(workshop(on, [{ hang: true }]).config, NODE);
    await on.end(first.setMode("plan"));
    const { id } = await on.end(first.ask("Go."));
    const { config, asked } = workshop(on);
    const second = await on.start({ ...config, modes: { build: {} } }, NODE);
    expect((await failureOf(on.end(second.result(id)))).failure?.code).toBe("mode_unknown");
    expect((await failureOf(on.end(second.ask("Again.")))).code).toBe("mode_unknown");
    await ask(on, second, { mode: "build" });
    expect(asked()).toEqual([OWN]);
  });

  test("has rules, which decide calls while it is set, and a rule that denies wins", async () => {
    const on = await stage({ store: open() });
    const ran: string[] = [];
    const execute = ({ path }: { path: string }) => `ran ${ran.push(path)}`;
    const write = { inputSchema: anything, needsApproval: true, execute: execute as never };
    const note = { inputSchema: anything, execute: execute as never };
    const modes = {
      plan: {
        rules: [
          { tool: "write", verdict: "deny", reason: "Plan first." },
          { tool: "note", verdict: "deny", pattern: { path: "etc/**" } },
        ],
      },
      build: { rules: [{ tool: "write", verdict: "allow", pattern: { path: "src/**" } }] },
    } as const;
    const call = (name: string, path: string) => ({ id: `${name} ${path}`, name, arguments: { path } });
    const calls = [call("write", "src/a"), call("note", "b"), call("note", "etc/c")];
    const config = (script: readonly ScriptedStep[]) => ({ script, tools: { write, note }, modes }) as never;
    const first = await on.start(config([{ calls }, "Planned."]), NODE);
    await on.end(first.setMode("plan"));
    expect(await first.rules()).toEqual([
      { id: "mode:plan/0", tool: "write", verdict: "deny", reason: "Plan first.", scope: "mode", mode: "plan" },
      { id: "mode:plan/1", tool: "note", verdict: "deny", pattern: { path: "etc/**" }, scope: "mode", mode: "plan" },
    ]);
    expect((await ask(on, first)).text).toBe("Planned.");
    expect(ran).toEqual(["b"]);
    expect(JSON.stringify(await on.log())).toContain("did not run: Plan first.");
    await on.end(first.stop());

    const second = await on.start(
      config([{ calls: [call("write", "src/d")] }, "Built.", { calls: [call("write", "src/e")] }, "Planned."]),
      NODE,
    );
    expect((await ask(on, second, { mode: "build" })).text).toBe("Built.");
    const decided = (await on.log()).filter(({ kind }) => kind === "approval_resolved");
    expect(decided.at(-1)?.payload).toMatchObject({ approved: true, rule: "mode:build/0" });
    await on.store.append(on.threadId, [
      {
        kind: "ai_setting",
        payload: { opId: "o", setting: { type: "rule", name: "o", value: { tool: "write", verdict: "allow" } } },
      },
    ]);
    expect((await ask(on, second)).text).toBe("Planned."); // the rule of the mode comes before the remembered one
    expect(ran).toEqual(["b", "src/d"]);
    expect((await second.rules()).map(({ id, scope }) => [id, scope])).toContainEqual(["o", "thread"]);
    await expect(on.end(second.revokeRule("mode:plan/0"))).rejects.toMatchObject({ code: "setting_invalid" });
    await on.end(second.stop());
    const agent = defineAgent({ model: scriptedModel([]), tools: { write, note }, modes } as never);
    const host = AgentHost.create({ agent, store: on.store, ports: on.ports });
    expect((await host.rules(on.threadId)).map(({ id }) => id)).toEqual(["mode:plan/0", "mode:plan/1", "o"]);
    await on.end(host.stop());
    const third = await on.start(config([]), NODE);
    await on.end(third.setMode(null));
    expect((await third.rules()).map(({ id }) => id)).toEqual(["o"]);
    await proveAll(on.store, on.threadId);
  });

  test("has its rules in the process that takes a request over, also for a call that waits", async () => {
    const on = await stage({ store: open() });
    let ran = 0;
    const execute = () => `ran ${++ran}`;
    const tools = { write: { inputSchema: anything, needsApproval: true, execute } };
    const rules = [{ tool: "write", verdict: "allow", pattern: { path: "src/*" } }];
    const config = (script: readonly ScriptedStep[]) => ({ script, tools, modes: { build: { rules } } }) as never;
    const write = (path: string) => ({ calls: [{ id: path, name: "write", arguments: { path } }] });
    const dying = await on.start(config([write("etc/a")]), NODE);
    const { id } = await on.end(dying.ask("Go.", { mode: "build" }));
    await on.settled();
    expect((await dying.waiting()).map(({ toolCallId }) => toolCallId)).toEqual(["etc/a"]);
    await on.end(dying.stop({ graceMs: 0 }));
    const next = await on.start(config([write("src/b"), "Done."]), NODE);
    expect((await next.rules()).map(({ mode }) => mode)).toEqual(["build"]);
    await on.end(next.approve("etc/a"));
    expect((await on.end(next.result(id))).text).toBe("Done.");
    expect(ran).toBe(2);
    expect(await next.rules()).toEqual([]);
  });
});

test("a mode that the agent does not have is refused, and the thread is as it was", async () => {
  const on = await stage();
  const server = await on.start(workshop(on).config);
  for (const name of ["plann", "toString"]) {
    expect((await failureOf(on.end(server.setMode(name)))).code).toBe("mode_unknown");
    expect((await failureOf(on.end(server.ask("Go.", { mode: name })))).code).toBe("mode_unknown");
  }
  expect((await failureOf(on.end(server.setMode(5 as never)))).code).toBe("invalid_options");
  expect((await failureOf(on.end(server.ask("Go.", { mode: 5 as never })))).code).toBe("invalid_options");
  expect(await on.log()).toEqual([]);
});

test("an ask may do without the mode that was set, also with one that the agent does not have", async () => {
  const on = await stage();
  const { config, asked } = workshop(on);
  const first = await on.start(config, NODE);
  await on.end(first.setMode("plan"));
  await ask(on, first, { mode: null });
  await on.end(first.stop());
  const second = await on.start({ ...config, modes: { build: {} } }, NODE);
  const { message } = await failureOf(on.end(second.ask("Go.")));
  expect(message).toContain("setMode(null) sets none. An ask with `mode: null` has none.");
  await ask(on, second, { mode: null });
  expect(asked()).toEqual([OWN, OWN]);
  expect((await on.log()).flatMap(({ payload }) => ("options" in payload ? [payload["options"]] : []))).toEqual([
    { mode: null },
    { mode: null },
  ]);
});

test("the tools of an ask are added to those of its mode, and allowedTools replaces them", async () => {
  const on = await stage();
  const { config, asked } = workshop(on);
  const server = await on.start(config);
  const look = { inputSchema: anything, execute: () => "seen" };
  await ask(on, server, { mode: "small", tools: { look } });
  await ask(on, server, { mode: "small", allowedTools: ["edit"] });
  await ask(on, server, { mode: "small" });
  expect(asked().map(([, , tools]) => tools)).toEqual(["look", "edit", ""]);
  const forced = { mode: "plan", toolChoice: { tool: "edit" } } as const;
  expect((await failureOf(on.end(server.ask("Go.", forced)))).code).toBe("unknown_tool");
});

test("options of an ask come before its mode, and a function of the prompt is not called for nothing", async () => {
  const on = await stage();
  let called = 0;
  const { config, asked } = workshop(on);
  const server = await on.start({ ...config, systemPrompt: () => `Own ${++called}.` });
  await ask(on, server, { mode: "plan", reasoning: "low", model: "spare" });
  await ask(on, server, { mode: "small" });
  expect(asked()).toEqual([
    ["own", "Own 1.", "", undefined],
    ["spare", "Plan.", "read", "low"],
  ]);
});
