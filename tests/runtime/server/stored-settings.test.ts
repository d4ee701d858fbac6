import { type AgentServer, rebuildCall, type Tools } from "heddle";
import { toUIMessages } from "heddle/ai-sdk";
import { recordedCall, SettingError } from "heddle/core";
import { describe, expect, test } from "vitest";
import { agentOf, house } from "../host/support/hosts.ts";
import { anything, eventsOf, gate, proveAll, type Stage, stage } from "../support/stage.ts";

const find = { description: "Finds it.", inputSchema: anything, execute: () => "found" };

const ask = async (on: Stage, server: Awaited<ReturnType<Stage["start"]>>, text: string) =>
  on.end((await on.end(server.ask(text))).result);

const settingsIn = async (on: Stage) => (await on.log()).filter(({ kind }) => kind === "ai_setting");

describe("a setting", () => {
  test("holds after a restart, in a new process, and is in the record of each call", async () => {
    const on = await stage();
    const script = [
      { expect: { system: "Be B.", tools: ["find"] }, calls: [{ name: "find" }] },
      { expect: { system: "Be B." }, text: "Found." },
    ];
    const first = await on.start({ systemPrompt: "Be A." });
    expect((await on.end(first.setSystemPrompt("Be B."))).status).toBe("applied");
    expect((await on.end(first.registerTool("find", find))).status).toBe("applied");
    expect((await on.end(first.setContextPolicy({ maxTurns: 7 }))).status).toBe("applied");
    await on.end(first.stop());
    const resolveTool = (name: string) => (name === "find" ? find : undefined);
    const second = await on.start({ systemPrompt: "Be A.", script, resolveTool });
    expect((await ask(on, second, "Go.")).text).toBe("Found.");
    const calls = (await on.log()).flatMap((entry) => recordedCall(entry) ?? []);
    expect(calls.map(({ settingSeqs }) => settingSeqs)).toEqual([
      [0, 1, 2],
      [0, 1, 2],
    ]);
    expect(on.warnings).toEqual([]);
    expect(await proveAll(on.store, on.threadId)).toBe(2);
  });

  test("while a request runs is written at once, and holds from the next request on", async () => {
    const on = await stage();
    const hold = gate();
    const script = [
      { expect: { system: "A", tools: ["wait"] }, calls: [{ name: "wait" }] },
      { expect: { system: "A", tools: ["wait"] }, text: "One." },
      { expect: { system: "B", tools: ["find"] }, text: "Two." },
    ];
    const tools = { wait: { inputSchema: anything, execute: () => hold.promise } };
    const server = await on.start({ systemPrompt: "A", tools, script });
    const request = await on.end(server.ask("Go."));
    await on.settled();
    const answers = [
      await on.end(server.setSystemPrompt("B")),
      await on.end(server.registerTool("find", find)),
      await on.end(server.unregisterTool("wait")),
    ];
    expect(answers.map(({ status }) => status)).toEqual(["deferred", "deferred", "deferred"]);
    expect(await settingsIn(on)).toHaveLength(3);
    hold.resolve();
    expect((await on.end(request.result)).text).toBe("One.");
    for (const { settled } of answers) expect(await on.end(settled)).toEqual({ status: "applied" });
    expect((await ask(on, server, "And now?")).text).toBe("Two.");
    await proveAll(on.store, on.threadId);
  });

  test("is made once for an opId, and other content under it is refused", async () => {
    const on = await stage();
    const server = await on.start({ script: ["1."] });
    const options = { opId: "mine", by: "ann", reason: "shorter", source: "console", refs: { ticket: "7" } };
    expect(await on.end(server.setSystemPrompt("B", options))).toMatchObject({ opId: "mine", status: "applied" });
    expect((await on.end(server.setSystemPrompt("B", options))).status).toBe("duplicate");
    const other = on.end(server.setSystemPrompt("C", options));
    await expect(other).rejects.toMatchObject({ code: "setting_id_reused" });
    const [entry, ...more] = await settingsIn(on);
    expect(more).toEqual([]);
    expect(entry).toMatchObject({
      id: "set_mine",
      payload: { opId: "mine", by: "ann", reason: "shorter", setting: { type: "system_prompt", value: "B" } },
      refs: { source: "console", ticket: "7" },
    });
  });

  test("is known by its opId also when it lies before the loaded entries", async () => {
    const on = await stage();
    const first = await on.start();
    await on.end(first.setSystemPrompt("B", { opId: "mine" }));
    await on.end(first.stop());
    const entries = Array.from({ length: 300 }, (_, index) => ({
      kind: "message",
      payload: { role: index % 2 === 0 ? "user" : "assistant", content: "Word. ".repeat(300) },
    }));
    await on.store.append(on.threadId, entries);
    const contextPolicy = { maxInputTokens: 4000, reserveOutputTokens: 500 };
    const second = await on.start({ contextPolicy, script: [{ expect: { system: "B" }, text: "1." }] });
    expect((await on.end(second.thread())).firstSeq).toBeGreaterThan(0);
    expect((await on.end(second.setSystemPrompt("B", { opId: "mine" }))).status).toBe("duplicate");
    await expect(on.end(second.setSystemPrompt("C", { opId: "mine" }))).rejects.toMatchObject({
      code: "setting_id_reused",
    });
    expect((await ask(on, second, "1?")).text).toBe("1.");
    expect((await on.log()).filter(({ kind }) => kind === "ai_setting")).toHaveLength(1);
  });

  test("that is equal to the newest of its name is not written again", async () => {
    const on = await stage();
    const server = await on.start();
    const first = await on.end(server.registerTool("find", find));
    expect(await on.end(server.registerTool("find", find))).toMatchObject({ opId: first.opId, status: "duplicate" });
    expect((await on.end(server.registerTool("find", { ...find, description: "Other." }))).status).toBe("applied");
    expect((await on.end(server.registerTool("find", find))).status).toBe("applied");
    expect(await settingsIn(on)).toHaveLength(3);
  });

  test("of a lane holds for this lane, before that of the thread", async () => {
    const on = await stage();
    const script = ["Lane.", "Thread.", "Agent."].map((system) => ({ expect: { system }, text: "Ok." }));
    const server = await on.start({ script, systemPrompt: "Agent." });
    await on.end(server.setSystemPrompt("Lane.", { lane: "default" }));
    await on.end(server.setSystemPrompt("Thread."));
    await ask(on, server, "1?");
    const operation = { type: "switch", reason: "manual" } as const;
    await on.end(server.modifyContext({ contextRef: "side", operation }));
    await ask(on, server, "2?");
    await on.end(server.setSystemPrompt(null));
    await ask(on, server, "3?");
    const unknown = on.end(server.setSystemPrompt("X", { lane: "nowhere" }));
    await expect(unknown).rejects.toMatchObject({ code: "setting_lane_unknown" });
  });

  test("gives way to the prompt of a replace, and to the options of an ask", async () => {
    const on = await stage();
    const script = [{ expect: { system: "Replaced.", tools: ["find", "lent"] }, text: "Ok." }];
    const server = await on.start({ script, tools: { find } });
    await on.end(server.setSystemPrompt("Thread."));
    await on.end(server.unregisterTool("lent"));
    await on.end(server.setContextPolicy({ maxTurns: 3, maxInputTokens: 9000 }));
    const resultContext = { id: "c", entries: [], systemPrompt: "Replaced." };
    await on.end(server.modifyContext({ operation: { type: "replace", reason: "manual", resultContext } }));
    const options = { tools: { lent: find } as Tools, contextPolicy: { maxTurns: 5 } };
    await on.end((await on.end(server.ask("1?", options))).result);
    const call = (await on.log()).flatMap((entry) => recordedCall(entry) ?? []).at(-1);
    expect(await on.store.getBlob(call?.policy ?? "")).toMatchObject({ maxTurns: 5, maxInputTokens: 9000 });
  });

  test.each([
    ["setSystemPrompt", [7], "invalid_options"],
    ["setSystemPrompt", ["Be B.", { by: 7 }], "invalid_options"],
    ["setSystemPrompt", ["Be B.", { reason: {} }], "invalid_options"],
    ["setContextPolicy", [undefined], "invalid_options"],
    ["setContextPolicy", [7], "policy_invalid_value"],
    ["registerTool", [undefined, find], "tool_name_invalid"],
    ["registerTool", [Symbol("find"), find], "tool_name_invalid"],
    ["unregisterTool", [null], "tool_name_invalid"],
    ["unregisterTool", ["a\0b"], "tool_name_invalid"],
  ] as const)("%s(%j) is refused as %s, and nothing is written", async (method, values, code) => {
    const on = await stage();
    const server = await on.start();
    const call = server[method] as (...values: readonly unknown[]) => Promise<unknown>; // of a caller without types
    await expect(on.end(call.apply(server, [...values]))).rejects.toMatchObject({ code });
    expect(await on.log()).toEqual([]);
  });

  test("cannot be a function", async () => {
    const on = await stage();
    const server = await on.start();
    const refused = on.end(server.setSystemPrompt((() => "Be B.") as never));
    await expect(refused).rejects.toThrow(SettingError);
    await expect(on.end(server.setSystemPrompt((() => "Be B.") as never))).rejects.toMatchObject({
      code: "not_portable",
      message: expect.stringContaining("the agent's `systemPrompt`"),
    });
    expect(await on.log()).toEqual([]);
  });

  test("replaces a prompt that is a function of the context, until it is taken back", async () => {
    const on = await stage();
    const script = ["For ann.", "Text.", "For bob."].map((system) => ({ expect: { system }, text: "Ok." }));
    const systemPrompt = ((context: { user: string }) => `For ${context.user}.`) as never;
    const server = await on.start({ script, systemPrompt });
    const context = { user: "ann" } as never;
    await on.end((await on.end(server.ask("1?", { context }))).result);
    await on.end(server.setSystemPrompt("Text."));
    await on.end((await on.end(server.ask("2?", { context }))).result);
    await on.end(server.setSystemPrompt(null));
    await on.end((await on.end(server.ask("3?", { context: { user: "bob" } as never }))).result);
  });

  test("that a store has and whose answer was lost is not made twice", async () => {
    let isLost = true;
    const on = await stage({
      around: (store) => ({
        ...store,
        append: async (id, entries, options) => {
          const result = await store.append(id, entries, options);
          if (isLost && result.entries[0]?.kind === "ai_setting") {
            isLost = false;
            throw Object.assign(new Error("The connection was lost."), { retryable: true });
          }
          return result;
        },
      }),
    });
    const server = await on.start({ script: [{ expect: { system: "B" }, text: "1." }] });
    await on.end(server.setSystemPrompt("B", { opId: "mine" }).catch(() => undefined));
    expect((await on.end(server.setSystemPrompt("B", { opId: "mine" }))).status).toBe("duplicate");
    expect(await settingsIn(on)).toHaveLength(1);
    expect((await ask(on, server, "1?")).text).toBe("1.");
  });

  test("never appears in the context or in UI messages, and explain says so", async () => {
    const on = await stage();
    const server = await on.start({ script: [{ expect: { messages: [{ text: "1?" }] }, text: "1." }] });
    await on.end(server.setSystemPrompt("B"));
    await ask(on, server, "1?");
    expect((await on.end(server.explain()))[0]).toMatchObject({
      kind: "ai_setting",
      status: "not_projectable",
      rule: "setting",
    });
    const messages = toUIMessages(await on.end(server.thread()));
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
  });

  test("is shown with the call that it held for", async () => {
    const on = await stage();
    const server = await on.start({ script: ["1.", "2."] });
    await ask(on, server, "1?");
    await on.end(server.setSystemPrompt("B", { by: "ann" }));
    await ask(on, server, "2?");
    const [first, second] = (await on.log()).flatMap(({ refs }) => refs.callId ?? []);
    expect((await rebuildCall(on.store, on.threadId, first ?? "")).heldSettings).toEqual([]);
    const { heldSettings } = await rebuildCall(on.store, on.threadId, second ?? "");
    expect(heldSettings).toMatchObject([{ kind: "ai_setting", seq: 2, payload: { by: "ann" } }]);
  });
});

describe("a tool that was registered", () => {
  const started = async (on: Stage) => {
    const server = await on.start();
    await on.end(server.registerTool("find", find));
    await on.end(server.stop());
  };

  test.each([
    ["by no function", undefined, "no `resolveTool`"],
    ["by a function that does not know it", () => undefined, "does not know it"],
    ["by a function that throws", () => Promise.reject(new Error("no")), "failed"],
    ["by a function that makes no tool", () => ({}) as never, "failed"],
    ["by a function that never answers", () => new Promise<never>(() => undefined), "failed"],
  ])("and is found %s is not shown, with a warning", async (_what, resolveTool, trouble) => {
    const on = await stage();
    await started(on);
    const script = [{ expect: { tools: [] }, calls: [{ name: "find" }] }, "None."];
    const server = await on.start({ script, resolveTool });
    expect((await ask(on, server, "Go.")).text).toBe("None.");
    const unresolved = on.warnings.filter((warning) => warning.startsWith("tool_unresolved"));
    expect(unresolved).toEqual([expect.stringContaining('"find"')]);
    expect(unresolved[0]).toContain(trouble);
    expect((await on.log()).find(({ payload }) => "toolCallId" in payload)?.payload).toMatchObject({ isError: true });
  });

  test("and is not found is an event of each request, also of one that is resumed in a process without it", async () => {
    const on = await stage();
    await started(on);
    const kinds = async (server: AgentServer | undefined) => {
      const events = server?.request === undefined ? [] : await on.end(eventsOf(server.request));
      return events.flatMap(({ kind, data }) => (kind.startsWith("llm_d") ? [] : [[kind, Reflect.get(data, "name")]]));
    };
    const first = await on.start({ script: [{ hang: true }] });
    await on.end(first.ask("Go."));
    const of = kinds(first);
    await on.end(first.stop({ graceMs: 0 }));
    expect((await of).slice(0, 2)).toEqual([
      ["request_started", undefined],
      ["tool_unresolved", "find"],
    ]);
    const second = await on.start({ script: [{ text: "Done.", delayMs: 50 }] });
    expect((await kinds(second))[0]).toEqual(["tool_unresolved", "find"]);
  });

  test("is found in the agent's tools first, then by the server's function in place of the agent's", async () => {
    const on = await stage();
    await started(on);
    const never = () => {
      throw new Error("not asked");
    };
    const script = [{ calls: [{ name: "find" }] }, "Done."];
    const own = await on.start({ script, tools: { find: { ...find, execute: () => "own" } }, resolveTool: never });
    await ask(on, own, "Go.");
    await on.end(own.stop());
    const resolveTool = (_name: string, spec: { schema: unknown; description?: string; hash: string }) => ({
      ...find,
      execute: () => `${spec.description} ${spec.hash.length}`,
    });
    const other = await on.start({ script, resolveTool: never }, { resolveTool });
    await ask(on, other, "Go.");
    const results = (await on.log()).filter(({ payload }) => "toolCallId" in payload);
    expect(results.map(({ payload }) => Reflect.get(payload, "content"))).toEqual(["own", "Finds it. 43"]);
  });

  test("in another process stays with a request that is taken over", async () => {
    const on = await stage();
    const hold = gate();
    const first = await on.start({ script: [{ calls: [{ name: "find" }] }] });
    await on.end(first.registerTool("find", { ...find, execute: () => hold.promise }));
    const { id } = await on.end(first.ask("Go."));
    await on.settled();
    await on.end(first.stop({ graceMs: 0 }));
    const script = [{ expect: { tools: ["find"] }, text: "Done." }];
    const second = await on.start({ script, resolveTool: () => ({ ...find, repeatable: true }) });
    expect((await on.end(second.result(id))).text).toBe("Done.");
    hold.resolve();
  });

  test("is there in a host after its thread was released", async () => {
    const at = await house();
    const agent = agentOf([{ expect: { tools: ["find"], system: "B" }, text: "Ok." }]);
    const host = at.host({ agent, idleMs: 7 });
    const server = await at.end(host.get("t"));
    await at.end(server.registerTool("find", find));
    await at.end(server.setSystemPrompt("B"));
    await at.pass(8);
    expect(host.size).toBe(0);
    expect((await at.end((await at.end(host.ask("t", "Go."))).result)).text).toBe("Ok.");
    expect(at.warnings).toEqual([]);
    await at.end(host.stop());
  });
});
