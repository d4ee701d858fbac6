import { memoryStore, rebuildCall } from "heddle";
import { sqliteStore } from "heddle/sqlite";
import { type ScriptedStep, scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { fastFile } from "../../support/temp-folder.ts";
import { anything, failureOf, gate, proveAll, type Stage, stage } from "../support/stage.ts";

const NODE = { holder: "node" };
const find = { inputSchema: anything, execute: () => "found" };
const add = { inputSchema: anything, execute: () => "added" };

type Call = Record<string, unknown>;
type Server = Awaited<ReturnType<Stage["start"]>>;

const run = async (on: Stage, server: Server, options: object = {}) =>
  on.end((await on.end(server.ask("Go.", options as never))).result);
const optionsIn = async (on: Stage) => Object((await on.log())[0]?.payload).options;

function named(on: Stage, modelId: string, script: readonly ScriptedStep[] = []) {
  return scriptedModel(script, { provider: "test", modelId, after: on.ports.after });
}

describe.each([
  ["memory", () => memoryStore()],
  ["SQLite", () => sqliteStore(fastFile())],
])("prepareCall on %s", (_name, open) => {
  test("gets the request as the AI SDK gives it, and its changes are stored with the ask", async () => {
    const on = await stage({ store: open() });
    const seen: Call[] = [];
    const large = named(on, "large", [
      { expect: { system: "Be brief. For Ann.", tools: ["find"] }, calls: [{ name: "find" }] },
      { expect: { system: "Be brief. For Ann.", tools: ["find"] }, text: "Done." },
    ]);
    const server = await on.start({
      model: named(on, "small"),
      models: { large },
      systemPrompt: "Be brief.",
      temperature: 1,
      tools: { find, add },
      providerOptions: { test: { a: 1 } },
      prepareCall: ({ options, ...call }: Call) => {
        seen.push({ options, ...call });
        const { user } = options as { readonly user: string };
        return {
          ...call,
          model: "large",
          instructions: `${call["instructions"]} For ${user}.`,
          activeTools: ["find"],
          toolChoice: { type: "tool", toolName: "find" },
          temperature: 0,
          providerOptions: { test: { b: 2 } },
        };
      },
    } as never);
    const result = await run(on, server, { context: { user: "Ann" }, topP: 0.5, requestId: "r1" });
    expect(result.text).toBe("Done.");
    expect(seen).toHaveLength(1);
    expect(seen[0]).toMatchObject({
      context: { user: "Ann" },
      requestId: "r1",
      threadId: on.threadId,
      prompt: "Go.",
      model: { modelId: "small" },
      instructions: "Be brief.",
      tools: { find, add },
      activeTools: ["find", "add"],
      temperature: 1,
      topP: 0.5,
      providerOptions: { test: { a: 1 } },
    });
    expect(await optionsIn(on)).toEqual({
      hasContext: true,
      model: ["large"],
      systemPrompt: "Be brief. For Ann.",
      allowedTools: ["find"],
      call: {
        topP: 0.5,
        temperature: 0,
        toolChoice: { type: "tool", toolName: "find" },
        providerOptions: { test: { b: 2 } },
      },
    });
    const { settings } = await rebuildCall(on.store, on.threadId, result.calls[0]?.callId ?? "");
    expect(settings).toMatchObject({ temperature: 0, topP: 0.5, providerOptions: { test: { a: 1, b: 2 } } });
    expect(await proveAll(on.store, on.threadId)).toBe(2);
  });

  test("that returns its argument, or nothing, stores nothing", async () => {
    const on = await stage({ store: open() });
    const answers = [(call: Call) => ({ ...call }), () => undefined, () => null];
    const prepareCall = (call: Call) => answers.shift()?.(call);
    const script = ["1.", "2.", "3."];
    const server = await on.start({ script, systemPrompt: "Own.", tools: { find }, prepareCall } as never);
    for (const text of script) expect((await run(on, server)).text).toBe(text);
    const asks = (await on.log()).filter(({ payload }) => "role" in payload && payload["role"] === "user");
    expect(asks.filter(({ payload }) => "options" in payload)).toEqual([]);
  });

  test("is not called again by the process that takes over: it reads the log", async () => {
    const on = await stage({ store: open() });
    let count = 0;
    const config = (script: readonly ScriptedStep[]) => ({
      model: named(on, "small"),
      models: { large: named(on, "large", script) },
      systemPrompt: () => "Own.",
      tools: { find, add },
      prepareCall: () => {
        count += 1;
        return { model: "large", instructions: "Look.", activeTools: ["find"], temperature: 0.2 };
      },
    });
    const dying = await on.start(config([{ hang: true }]) as never, NODE);
    const { id } = await on.end(dying.ask("Go."));
    await on.settled();
    await on.end(dying.stop({ graceMs: 0 }));
    const next = await on.start(
      config([{ expect: { system: "Look.", tools: ["find"] }, text: "Done." }]) as never,
      NODE,
    );
    const { text, calls } = await on.end(next.result(id));
    expect([text, count]).toEqual(["Done.", 1]);
    const { settings } = await rebuildCall(on.store, on.threadId, calls.at(-1)?.callId ?? "");
    expect(settings["temperature"]).toBe(0.2);
    await proveAll(on.store, on.threadId);
  });

  test("gives tools and headers for one request, which another process has to make again", async () => {
    const on = await stage({ store: open() });
    const own = { inputSchema: anything, execute: () => "own" };
    const prepareCall = ({ tools: { add: _add, ...tools } }: { tools: Call }) => ({
      tools: { ...tools, own },
      headers: { "x-key": "secret" },
    });
    const config = (script: readonly ScriptedStep[]) => ({ script, tools: { find, add }, prepareCall }) as never;
    const expects = { tools: ["find", "own"] };
    const first = await on.start(config([{ expect: expects, calls: [{ name: "own" }] }, "Done."]), NODE);
    const { text } = await run(on, first);
    expect(text).toBe("Done.");
    expect(await optionsIn(on)).toEqual({
      askedTools: ["own"],
      askedHeaders: ["x-key"],
      allowedTools: ["find", "own"],
    });
    const results = (await on.log()).filter(({ payload }) => "role" in payload && payload["role"] === "tool");
    expect(results).toMatchObject([{ payload: { content: "own" } }]);
    await on.end(first.stop());
    const hanging = async () => {
      const dying = await on.start(config([{ hang: true }]), NODE);
      const { id } = await on.end(dying.ask("Go."));
      await on.settled();
      await on.end(dying.stop({ graceMs: 0 }));
      return id;
    };
    const lost = await hanging();
    const without = await on.start(config(["Never."]), NODE);
    expect(await failureOf(on.end(without.result(lost)))).toMatchObject({ failure: { code: "options_lost" } });
    await on.end(without.stop());
    const kept = await hanging();
    const again = { ...NODE, tools: () => ({ own }), headers: () => ({ "x-key": "secret" }) };
    const next = await on.start(config([{ expect: expects, text: "Again." }]), again);
    expect((await on.end(next.result(kept))).text).toBe("Again.");
    expect(JSON.stringify(await on.log())).not.toContain("secret");
  });

  test("refuses the ask when it fails, and nothing is written", async () => {
    const on = await stage({ store: open() });
    const bad: readonly (readonly [unknown, RegExp])[] = [
      [{ temprature: 1 }, /cannot change temprature/],
      [{ prompt: "Other." }, /cannot change prompt/],
      [{ temperature: "hot" }, /temperature must be a number/],
      [{ instructions: 1 }, /instructions must be text/],
      [{ model: [] }, /model must not be an empty list/],
      [{ tools: { bad: 1 } }, /bad/],
      [{ activeTools: 1 }, /./],
      ["text", /no object/],
    ];
    const answers = bad.map(([answer]) => answer);
    const server = await on.start({ script: ["Never."], prepareCall: () => answers.shift() } as never);
    for (const [, message] of bad) {
      const error = await failureOf(on.end(server.ask("Go.")));
      expect(error.code).toBe("prepare_call_failed");
      expect(String(error.cause)).toMatch(message);
    }
    answers.push({ model: "nobody" }, { activeTools: ["nobody"] });
    expect((await failureOf(on.end(server.ask("Go.")))).code).toBe("model_unresolved");
    expect((await failureOf(on.end(server.ask("Go.")))).code).toBe("unknown_tool");
    expect(await on.log()).toEqual([]);
  });

  test("is called for an ask that could start, when it starts, and not for one that is continued", async () => {
    const on = await stage({ store: open() });
    const prompts: unknown[] = [];
    const opened = gate();
    const wait = { inputSchema: anything, execute: () => opened.promise.then(() => "open") };
    const server = await on.start({
      script: [{ calls: [{ name: "wait" }] }, "One.", { calls: [{ name: "wait" }] }, "Two.", "Three."],
      tools: { wait },
      busy: "queue",
      maxIterations: 2,
      accept: (_agent: unknown, { content }: Call) => (content === "No." ? "no" : undefined),
      prepareCall: ({ prompt }: Call) => {
        prompts.push(prompt);
        return { instructions: `For ${prompt}` };
      },
    } as never);
    const first = await on.end(server.ask("First."));
    await on.settled();
    const next = server.ask("Next.", { maxIterations: 1, requestId: "next" } as never);
    await on.settled();
    expect(prompts).toEqual(["First."]);
    opened.resolve();
    await on.end(first.result);
    await on.end((await on.end(next)).result);
    expect(prompts).toEqual(["First.", "Next."]);
    const { result } = await on.end(server.continueRequest("next"));
    const { calls } = await on.end(result);
    const { messages } = await rebuildCall(on.store, on.threadId, calls.at(-1)?.callId ?? "");
    expect(messages[0]).toEqual({ role: "system", content: "For Next." });
    expect((await failureOf(on.end(server.ask("No.")))).code).toBe("not_accepted");
    expect(prompts).toEqual(["First.", "Next."]);
  });
});
