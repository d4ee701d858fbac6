import type { AgentServer, ThreadStore } from "heddle";
import { sqliteStore } from "heddle/sqlite";
import { describe, expect, test } from "vitest";
import { fastFile } from "../../support/temp-folder.ts";
import { agentOf, house } from "../host/support/hosts.ts";
import { spied } from "../support/spied-store.ts";
import { anything, eventsOf, proveAll, type Stage, stage } from "../support/stage.ts";

const write = (path: string, id = path) => ({ id, name: "write", arguments: { path } });
const IN_SRC = { pattern: { path: "src/**" } };

function writing() {
  const written: string[] = [];
  const execute = ({ path }: { path: string }) => `file ${written.push(path)}`;
  const tools = {
    write: { inputSchema: anything, needsApproval: true, execute: execute as never },
    shell: { inputSchema: anything, needsApproval: true, execute: () => "ran" },
    look: { inputSchema: anything, execute: () => "seen" },
  };
  return { written, tools };
}

const STORES: readonly [string, () => ThreadStore | undefined][] = [
  ["in memory", () => undefined],
  ["on SQLite", () => sqliteStore(fastFile())],
];

const waitingIds = async (server: AgentServer) => (await server.waiting()).map(({ toolCallId }) => toolCallId);

async function asked(on: Stage, server: AgentServer, text = "Write.") {
  const request = await on.end(server.ask(text));
  await on.end(eventsOf(request, { until: "waiting" }));
  return request;
}

describe.each(STORES)("a remembered decision, %s", (_, open) => {
  const onStage = (options: Parameters<typeof stage>[0] = {}) => {
    const store = open();
    return stage({ ...options, ...(store && { store }) });
  };

  test("is written with its rule in one append, and settles the other calls that wait and match", async () => {
    const spy = { appends: [] as (readonly string[])[] };
    const around = (store: ThreadStore) => {
      const seen = spied(store);
      seen.trouble = (kind, _number, entries) => {
        if (kind === "append") spy.appends.push(entries.map((entry) => `${entry.kind}`));
        return undefined;
      };
      return seen.store;
    };
    const on = await onStage({ around });
    const { written, tools } = writing();
    const calls = ["src/a", "src/b", "etc/x", "src/../etc/y", "src/c"].map((path) => write(path));
    const server = await on.start({ script: [{ calls }, "Written."], tools });
    const request = await asked(on, server);
    spy.appends.length = 0;
    const remember = { ...IN_SRC, scope: "thread" } as const;
    await on.end(server.approve("src/b", { by: "Ann", remember }));
    expect(spy.appends[0]).toEqual(["approval_resolved", "ai_setting", "approval_resolved", "approval_resolved"]);
    await on.settled();
    expect(written.toSorted()).toEqual(["src/a", "src/b", "src/c"]);
    expect(await waitingIds(server)).toEqual(["etc/x", "src/../etc/y"]);
    const [rule, ...more] = await server.rules();
    expect(more).toEqual([]);
    expect(rule).toMatchObject({ tool: "write", verdict: "allow", ...IN_SRC, scope: "thread", by: "Ann" });
    const decisions = (await on.log()).filter(({ kind }) => kind === "approval_resolved");
    expect(decisions.map(({ payload }) => [payload["toolCallId"], payload["rule"], payload["by"]])).toEqual([
      ["src/b", undefined, "Ann"],
      ["src/a", rule?.id, undefined],
      ["src/c", rule?.id, undefined],
    ]);
    const told = (await eventsOf(request, { until: "waiting" })).filter(({ kind }) => kind === "approval_resolved");
    expect(told.map(({ data }) => Object(data).rule)).toEqual([undefined, rule?.id, rule?.id]);
    for (const id of ["etc/x", "src/../etc/y"]) await on.end(server.deny(id));
    expect((await on.end(request.result)).text).toBe("Written.");
    await proveAll(on.store, on.threadId);
  });

  test("that denies settles the others with its reason, and holds for calls that need no approval", async () => {
    const on = await onStage();
    const { written, tools } = writing();
    const calls = [write("a"), write("b"), { id: "l", name: "look" }];
    const again = { calls: [{ id: "l2", name: "look" }, write("c")] };
    const server = await on.start({
      script: [{ calls }, again, "No.", { calls: [{ id: "l3", name: "look" }] }, "Seen."],
      tools,
    });
    const request = await asked(on, server);
    await on.end(server.deny("a", { reason: "not today", remember: { scope: "lane" } }));
    expect((await on.end(request.result)).text).toBe("No.");
    expect(written).toEqual([]);
    const log = JSON.stringify(await on.log());
    expect(log.split("did not run: not today")).toHaveLength(4);
    const [{ id = "" } = {}] = await server.rules();
    expect(await on.end(server.revokeRule(id))).toBe(true);
    expect(await on.end(server.revokeRule(id))).toBe(false);
    expect(await server.rules()).toEqual([]);
  });

  test("that denies a folder holds for its other spellings, and asks where they are unclear", async () => {
    const on = await onStage();
    const { written, tools } = writing();
    const spellings = ["secrets/../secrets/b", "./secrets/b", "secrets%2fb", "Secrets/b", "/repo/secrets/b", "notes/b"];
    const calls = [write("secrets/a"), write("notes/a")];
    const server = await on.start({ script: [{ calls }, { calls: spellings.map((path) => write(path)) }], tools });
    const request = await asked(on, server);
    await on.end(server.deny("secrets/a", { remember: { pattern: { path: "secrets/**" } } }));
    await on.end(server.approve("notes/a", { remember: {} }));
    await on.end(eventsOf(request, { until: "waiting" }));
    await on.settled();
    expect(await waitingIds(server)).toEqual(["/repo/secrets/b"]);
    expect(written).toEqual(["notes/a", "notes/b"]);
    // The person who is asked may approve it.
    await on.end(server.approve("/repo/secrets/b"));
    await on.settled();
    expect(written).toContain("/repo/secrets/b");
  });

  test.each([
    ["request", [false, false]],
    ["lane", [true, false]],
    ["thread", [true, true]],
  ] as const)("of the scope %s holds after a restart where it should", async (scope, [later, elsewhere]) => {
    const on = await onStage();
    const { written, tools } = writing();
    const first = await on.start({ script: [{ calls: [write("src/a")] }], tools });
    await asked(on, first);
    const remember = { ...IN_SRC, scope };
    await on.end(first.approve("src/a", { remember }).then(() => first.stop({ graceMs: 0 })));

    // The process that goes on has the rule, and runs the next call of the request by it.
    const script = [
      { calls: [write("src/b")], delayMs: 5 },
      "One.",
      { calls: [write("src/c")] },
      { calls: [write("src/d")] },
    ];
    const second = await on.start({ script, tools });
    await on.end(second.request?.result ?? expect.fail("nothing was resumed"));
    expect(written.filter((path) => path === "src/b")).toEqual(["src/b"]);
    const ask = async (server: AgentServer, path: string) => {
      const request = await on.end(server.ask("More."));
      await on.end(eventsOf(request, { until: "waiting" }));
      expect(written.includes(path)).toBe(!(await waitingIds(server)).includes(path));
      return written.includes(path);
    };
    expect(await ask(second, "src/c")).toBe(later);
    await on.end(second.cancel());
    const operation = { type: "switch", reason: "manual" } as const;
    await on.end(second.modifyContext({ contextRef: "side", operation }));
    await on.end(second.stop());
    const third = await on.start({ script: [{ calls: [write("src/e")] }, "Three."], tools });
    expect(await ask(third, "src/e")).toBe(elsewhere);
    await on.end(third.stop({ graceMs: 0 }));
  });

  test.each([
    ["description", { description: "Deletes the disk." }],
    ["schema", { inputSchema: { type: "object", properties: { path: {}, force: {} } } }],
  ])("holds for the tool as it was: with another %s a person is asked again", async (_, change) => {
    const on = await onStage();
    const { written, tools } = writing();
    const first = await on.start({ script: [{ calls: [write("src/a"), write("etc/a")] }, "Done."], tools });
    const request = await asked(on, first);
    await on.end(first.approve("src/a", { remember: { ...IN_SRC, scope: "thread" } }));
    await on.end(first.deny("etc/a", { remember: { pattern: { path: "etc/**" }, scope: "thread" } }));
    await on.end(request.result);
    await on.end(first.stop());
    const changed = { write: { ...tools.write, ...change, needsApproval: false } };
    const calls = [write("src/b"), write("etc/b")];
    const second = await on.start({ script: [{ calls }], tools: changed as never });
    await asked(on, second);
    expect([await waitingIds(second), written]).toEqual([["src/b"], ["src/a"]]);
    await on.end(second.cancel());
    await on.end(second.stop());
    const third = await on.start({ script: [{ calls: [write("src/c")] }, "Done."], tools });
    await on.end((await on.end(third.ask("More."))).result);
    expect(written).toEqual(["src/a", "src/c"]);
  });

  test("is found before the loaded end of a long thread, and one that was revoked is not", async () => {
    const on = await onStage();
    const { written, tools } = writing();
    const first = await on.start({
      script: [{ calls: [write("src/a")] }, { calls: [write("etc/a")] }, "Done."],
      tools,
    });
    const request = await asked(on, first);
    await on.end(first.approve("src/a", { remember: { ...IN_SRC, scope: "thread" } }));
    await on.end(eventsOf(request, { until: "waiting" }));
    await on.end(first.approve("etc/a", { remember: { pattern: { path: "etc/*" }, scope: "thread" } }));
    await on.end(request.result);
    const [, etc] = await first.rules();
    await on.end(first.revokeRule(etc?.id ?? "", { by: "Bea", reason: "too wide" }));
    await on.end(first.stop());
    const entries = Array.from({ length: 300 }, (_, index) => ({
      kind: "message",
      payload: { role: index % 2 === 0 ? "user" : "assistant", content: "Word. ".repeat(300) },
    }));
    await on.store.append(on.threadId, entries);
    const contextPolicy = { maxInputTokens: 4000, reserveOutputTokens: 500 };
    const script = [{ calls: [write("src/b"), write("etc/b")] }, "Done."];
    const second = await on.start({ contextPolicy, script, tools });
    expect((await second.thread()).firstSeq).toBeGreaterThan(0);
    await asked(on, second);
    expect([await waitingIds(second), written]).toEqual([["etc/b"], ["src/a", "etc/a", "src/b"]]);
    expect((await second.rules()).map(({ pattern }) => pattern)).toEqual([IN_SRC.pattern]);
  });

  test("that does not cover its call, or is malformed, is refused and nothing is written", async () => {
    const on = await onStage();
    const { tools } = writing();
    const calls = [write("src/a"), { id: "s", name: "shell", arguments: { command: "npm test" } }];
    const server = await on.start({ script: [{ calls }], tools });
    await asked(on, server);
    const { length } = await on.log();
    const bad: [string, object, string][] = [
      ["src/a", { pattern: { path: "etc/**" } }, "setting_invalid"],
      ["src/a", { tool: "look" }, "setting_invalid"],
      ["src/a", { pattern: {} }, "setting_invalid"],
      ["src/a", { pattern: "src/**" }, "setting_invalid"],
      ["src/a", { pattern: { path: ["src/**"] } }, "setting_invalid"],
      ["src/a", { scope: "world" }, "invalid_options"],
      ["src/a", { paterns: {} }, "invalid_options"],
      ["s", { pattern: { command: "npm *" } }, "setting_invalid"],
    ];
    for (const [id, remember, code] of bad) {
      await expect(on.end(server.approve(id, { remember } as never))).rejects.toMatchObject({ code });
    }
    expect((await on.log()).length).toBe(length);
    await on.end(server.approve("s", { remember: { pattern: { command: "npm test" } } }));
    await on.end(server.approve("src/a", { remember: IN_SRC, arguments: { path: "src/b" } }));
    const made = (await on.log()).filter(({ kind }) => kind === "ai_setting");
    expect(made.map(({ payload, refs }) => payload["requestId"] === refs.requestId)).toEqual([true, true]);
  });

  test("is made once, loses against what the agent denies, and a rule that denies wins", async () => {
    const on = await onStage();
    const { written, tools } = writing();
    const guardTools = ({ arguments: given }: { readonly arguments: unknown }) =>
      String(Object(given).path).startsWith("src/secret") ? { deny: "secret" } : ("allow" as const);
    const script = [
      { calls: [write("src/a")] },
      { calls: [write("src/secret/a", "x"), write("src/b")] },
      { calls: [write("lib/a")] },
      { calls: [write("src/old/a"), write("src/c")] },
      "Done.",
    ];
    const server = await on.start({ script, tools, guardTools });
    const request = await asked(on, server);
    await on.end(server.approve("src/a", { remember: IN_SRC }));
    await on.end(eventsOf(request, { until: "waiting" }));
    expect(JSON.stringify(await on.log())).toContain("did not run: secret");
    await on.end(server.deny("lib/a", { remember: { pattern: { path: "**/a" } } }));
    expect((await on.end(request.result)).text).toBe("Done.");
    expect(written).toEqual(["src/a", "src/b", "src/c"]);
    expect((await on.log()).filter(({ kind }) => kind === "ai_setting")).toHaveLength(2);
  });
});

test.each(["in memory", "after a restart"])("a call that the guard asks for is allowed by no rule, %s", async (how) => {
  const on = await stage();
  const { written, tools } = writing();
  const guardTools = ({ arguments: given }: { readonly arguments: unknown }) =>
    String(Object(given).path).startsWith("old") ? ("ask" as const) : ("allow" as const);
  const calls = [write("src/a"), write("old/a"), write("old/b")];
  const script = [{ calls }, "Done.", { calls: [write("src/b"), write("old/c")] }];
  const modes = { bold: { rules: [{ tool: "write", verdict: "allow" }] } } as const;
  let server = await on.start({ script, tools, guardTools, modes });
  await asked(on, server);
  if (how === "after a restart") {
    await on.end(server.stop());
    server = await on.start({ script: script.slice(1), tools, guardTools, modes });
    await on.settled();
  }
  await on.end(server.approve("src/a", { remember: { scope: "thread" } }));
  expect(await waitingIds(server)).toEqual(["old/a", "old/b"]);
  await on.end(server.deny("old/b", { remember: { pattern: { path: "old/b" }, scope: "thread" } }));
  await on.end(server.approve("old/a"));
  await on.settled();
  const again = await on.end(server.ask("Again.", { mode: "bold" }));
  await on.end(eventsOf(again, { until: "waiting" }));
  expect(await waitingIds(server)).toEqual(["old/c"]);
  expect(written).toEqual(["src/a", "old/a", "src/b"]);
});

test("a rule that denies holds also for calls that need no approval, and a rule that allows says nothing of them", async () => {
  const on = await stage();
  const ran: string[] = [];
  const execute = ({ path }: { path: string }) => `ran ${ran.push(path)}`;
  const needsApproval = ({ path }: { path: string }) => path.startsWith("a");
  const careful = { inputSchema: anything, needsApproval: needsApproval as never, execute: execute as never };
  const calls = [write("a1"), write("z1")];
  const server = await on.start({ script: [{ calls }, { calls: [write("z2")] }, "Done."], tools: { write: careful } });
  const request = await asked(on, server);
  await on.end(server.deny("a1", { remember: {} }));
  expect((await on.end(request.result)).text).toBe("Done.");
  expect(ran).toEqual(["z1"]);
  const decided = (await on.log()).filter(({ kind }) => kind === "approval_resolved");
  expect(decided.map(({ payload }) => [payload["toolCallId"], payload["approved"], "rule" in payload])).toEqual([
    ["a1", false, false],
    ["z2", false, true],
  ]);
});

test("an equal rule is not written twice", async () => {
  const on = await stage();
  const { tools } = writing();
  const shell = (id: string, command: string) => ({ id, name: "shell", arguments: { command } });
  const server = await on.start({ script: [{ calls: [shell("1", "a"), shell("2", "b")] }, "Done."], tools });
  await asked(on, server);
  const remember = { tool: "shell", scope: "thread" } as const;
  await on.end(server.approve("1", { remember }));
  expect((await server.rules()).length).toBe(1);
  await expect(on.end(server.approve("2", { remember }))).rejects.toMatchObject({ code: "not_waiting" });
  expect((await on.log()).filter(({ kind }) => kind === "ai_setting")).toHaveLength(1);
});

test("another process remembers: the rule is in the log with the decision, and the holder runs what it covers", async () => {
  const { host: make, end, store } = await house();
  const { written, tools } = writing();
  const calls = [write("src/a"), write("src/b"), write("etc/a")];
  const holder = make({ agent: agentOf([{ calls }, { calls: [write("src/c")] }, "Written."], { tools }) });
  const request = await end(holder.ask("thread_1", "Write."));
  for await (const _event of request.events({ until: "waiting" }));
  const other = make({ agent: agentOf([], { tools }) });
  await end(other.approve("thread_1", "src/b", { by: "Bea", remember: { ...IN_SRC, scope: "thread" } }));
  const [rule] = await other.rules("thread_1");
  expect(rule).toMatchObject({ verdict: "allow", by: "Bea", scope: "thread" });
  await end(other.deny("thread_1", "etc/a"));
  expect((await end(request.result)).text).toBe("Written.");
  expect(written.toSorted()).toEqual(["src/a", "src/b", "src/c"]);
  const thread = await store.load("thread_1");
  const entries = thread?.toArray() ?? [];
  const at = entries.findIndex(({ kind }) => kind === "ai_setting");
  expect(entries.slice(at - 1, at + 2).map(({ kind }) => kind)).toEqual([
    "approval_resolved",
    "ai_setting",
    "approval_resolved",
  ]);
  expect(await end(other.revokeRule("thread_1", rule?.id ?? ""))).toBe(true);
  expect(await end(holder.revokeRule("thread_1", rule?.id ?? ""))).toBe(false);
  expect(await holder.rules("thread_1")).toEqual([]);
  for (const host of [holder, other]) await end(host.stop());
});

test("a process without the tool makes no rule that allows it, and writes nothing; one that denies it may", async () => {
  const { host: make, end, store } = await house();
  const { written, tools } = writing();
  const holder = make({ agent: agentOf([{ calls: [write("src/a"), write("etc/a")] }, "Written."], { tools }) });
  const request = await end(holder.ask("thread_1", "Write."));
  for await (const _event of request.events({ until: "waiting" }));
  const other = make({ agent: agentOf([]) });
  const rev = (await store.load("thread_1"))?.rev;
  const allowed = other.approve("thread_1", "src/a", { remember: { scope: "thread" } });
  await expect(end(allowed)).rejects.toMatchObject({
    code: "setting_invalid",
    message: expect.stringContaining("does not have the tool write"),
  });
  expect((await store.load("thread_1"))?.rev).toBe(rev);
  await end(other.approve("thread_1", "src/a"));
  await end(other.deny("thread_1", "etc/a", { remember: { scope: "thread" } }));
  expect((await end(request.result)).text).toBe("Written.");
  expect(written).toEqual(["src/a"]);
  expect(await other.rules("thread_1")).toMatchObject([{ verdict: "deny", tool: "write" }]);
  for (const host of [holder, other]) await end(host.stop());
});

test("a rule that denies a path decides only the calls that have the path", async () => {
  const on = await stage();
  const { written, tools } = writing();
  const without = { id: "none", name: "write", arguments: {} };
  const server = await on.start({ script: [{ calls: [write("etc/a"), without] }, "Written."], tools });
  const request = await asked(on, server);
  await on.end(server.deny("etc/a", { remember: { pattern: { path: "etc/**" } } }));
  expect(await waitingIds(server)).toEqual(["none"]);
  await on.end(server.deny("none"));
  await on.end(request.result);
  expect(written).toEqual([]);
});
