import {
  AgentHost,
  AgentServer,
  defineAgent,
  mcpTools,
  memoryStore,
  openStore,
  projectFromStore,
  react,
  rebuildCall,
  Thread,
} from "heddle";
import {
  chatTurn,
  projectionStep,
  toAISDKPrompt,
  toModelMessages,
  toModelPrompt,
  toUIMessages,
  uiMessageStream,
  uiMessageStreamResponse,
} from "heddle/ai-sdk";
import { postgresStore } from "heddle/postgres";
import { toAnthropic } from "heddle/providers";
import { sqliteStore } from "heddle/sqlite";
import { defineStore } from "heddle/store";
import { startStudio, studioHandler } from "heddle/studio";
import { scriptedModel } from "heddle/testing";
import { afterAll, describe, expect, test } from "vitest";

const agent = defineAgent({ model: scriptedModel(["Hi."]) });
const store = memoryStore();
const server = await AgentServer.start({ agent, store, threadId: "thread_1" });
const host = AgentHost.create({ agent, store });
const request = await server.ask("Go.");
await request.result;
const thread = await server.thread();
const [call] = (await request.result).calls;
const words = [{ id: "1", role: "user", parts: [{ type: "text", text: "Hi" }] }];
const answered = { id: "1", role: "assistant", parts: [] };

afterAll(() => Promise.all([server.stop(), host.stop()]));

/** Each public method that takes options, with one of its own options. */
const METHODS: { readonly [method: string]: readonly [known: string, call: (options: never) => unknown] } = {
  "AgentServer.start": ["threadId", (options) => AgentServer.start(options)],
  "server.ask": ["requestId", (options) => server.ask("Hi.", options)],
  "server.approve": ["reason", (options) => server.approve("call_1", options)],
  "server.deny": ["reason", (options) => server.deny("call_1", options)],
  "server.steer": ["requestId", (options) => server.steer("Hi.", options)],
  "server.inject": ["requestId", (options) => server.inject("Hi.", { source: "me", ...(options as object) })],
  "server.followUp": ["requestId", (options) => server.followUp("Hi.", options)],
  "server.summarize": ["toSeq", (options) => server.summarize(options)],
  "server.modifyContext": ["opId", (options) => server.modifyContext(options)],
  "server.setContextPolicy": ["maxTurns", (options) => server.setContextPolicy(options)],
  "server.setContextPolicy with options": ["lane", (options) => server.setContextPolicy({}, options)],
  "server.setSystemPrompt": ["opId", (options) => server.setSystemPrompt("Be brief.", options)],
  "server.registerTool": ["by", (options) => server.registerTool("look", { inputSchema: {} } as never, options)],
  "server.unregisterTool": ["reason", (options) => server.unregisterTool("look", options)],
  "server.stop": ["graceMs", (options) => server.stop(options)],
  "request.events": ["until", (options) => request.events(options)],
  "AgentHost.create": ["idleMs", (options) => AgentHost.create(options)],
  "host.get": ["context", (options) => host.get("thread_2", options)],
  "host.ask": ["requestId", (options) => host.ask("thread_2", "Hi.", options)],
  "host.approve": ["reason", (options) => host.approve("thread_2", "call_1", options)],
  "host.deny": ["reason", (options) => host.deny("thread_2", "call_1", options)],
  "host.stop": ["graceMs", (options) => host.stop(options)],
  react: ["ports", (options) => react({}, options)],
  "react settings": ["maxIterations", (options) => react(options)],
  "react.run": ["thread", (options) => react.run("Hi.", agent, options)],
  "react.stream": ["thread", (options) => react.stream("Hi.", agent, options)],
  "react.start": ["thread", (options) => react.start("Hi.", agent, options)],
  "react.continue": ["answers", (options) => react.continue("rt2.x", agent, options)],
  "react.collect": ["answers", (options) => react.collect("rt2.x", agent, options)],
  "react.cancel": ["reason", (options) => react.cancel("rt2.x", agent, options)],
  rebuildCall: ["readers", (options) => rebuildCall(store, "thread_1", call?.callId ?? "", options)],
  mcpTools: [
    "prefix",
    (options) => mcpTools({ listTools: async () => ({ tools: [] }), callTool: async () => 1 }, options),
  ],
  "Thread.create": ["metadata", (options) => Thread.create(options)],
  "Thread.fromJSON": ["clock", (options) => Thread.fromJSON(thread.toJSON(), options)],
  "Thread.fromMessages": ["format", (options) => Thread.fromMessages([], options)],
  "thread.fork": ["atSeq", (options) => thread.fork({ atSeq: 0, ...(options as object) })],
  "thread.toMessages": ["lane", (options) => thread.toMessages(options)],
  memoryStore: ["tenant", (options) => memoryStore(options)],
  sqliteStore: ["mode", (options) => sqliteStore("/nowhere/heddle.db", options)],
  postgresStore: ["schema", (options) => postgresStore("postgres://localhost/heddle", options)],
  openStore: ["tenant", (options) => openStore("memory:", options)],
  defineStore: ["pollMs", (options) => defineStore({} as never, options)],
  "store.append": ["expectedRev", (options) => store.append("thread_3", { kind: "note" }, options)],
  "store.load": ["last", (options) => store.load("thread_1", options)],
  "store.read": ["fromSeq", (options) => first(store.read("thread_1", options))],
  "store.list": ["prefix", (options) => store.list(options)],
  "store.feed": ["after", (options) => first(store.feed(options))],
  "store.watch": ["fromSeq", (options) => first(store.watch("thread_1", options))],
  "store.fork": ["atSeq", (options) => store.fork("thread_1", options)],
  "store.claim": ["holder", (options) => store.claim("thread_1", options)],
  "store.verify": ["onProgress", (options) => store.verify("thread_1", options)],
  projectFromStore: ["policy", (options) => projectFromStore(store, "thread_1", options)],
  chatTurn: ["refs", (options) => chatTurn(host, "thread_4", words as never, options)],
  "chatTurn of an approval": ["refs", (options) => chatTurn(host, "thread_1", [answered] as never, options)],
  uiMessageStream: ["client", (options) => uiMessageStream(request, options)],
  uiMessageStreamResponse: ["status", (options) => uiMessageStreamResponse(request, options)],
  toUIMessages: ["lane", (options) => toUIMessages(thread, options)],
  projectionStep: ["policy", (options) => projectionStep(options)],
  toAISDKPrompt: ["provider", (options) => toAISDKPrompt([], options)],
  toModelMessages: ["provider", (options) => toModelMessages([], options)],
  toModelPrompt: ["provider", (options) => toModelPrompt([], options)],
  toAnthropic: ["cache", (options) => toAnthropic([], [], options)],
  startStudio: ["port", (options) => startStudio(options)],
  studioHandler: ["readOnly", (options) => studioHandler(options)],
};

describe("an option that is not known is refused by name, and the known ones are listed", () => {
  test.each(Object.entries(METHODS))("%s", async (_method, [known, run]) => {
    const error: unknown = await (async () => run({ instrucshions: "Be brief." } as never))().then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ code: expect.stringMatching(/^(invalid_\w+|policy_unknown_field)$/) });
    const { message } = error as Error;
    expect(message).toContain("instrucshions");
    expect(message).toContain(known);
  });
});

test("a list is refused as options, and options in the place of an id", async () => {
  for (const refused of [
    () => server.ask("Hi.", [] as never),
    () => server.steer("Hi.", [] as never),
    () => server.stop([] as never),
    () => server.cancel({} as never),
    () => server.cancel("req_1", {} as never),
    () => server.finish({} as never),
    () => host.cancel("thread_2", {} as never),
  ]) {
    await expect((async () => refused())()).rejects.toMatchObject({ code: "invalid_options" });
  }
});

describe("a misspelled option of an ask or a host is answered with the name that was meant", () => {
  test.each<readonly [string, (options: never) => unknown, string, string]>([
    ["server.ask", (options) => server.ask("Hi.", options), "requestID", "requestId"],
    ["server.ask", (options) => server.ask("Hi.", options), "maxIteration", "maxIterations"],
    ["host.ask", (options) => host.ask("thread_2", "Hi.", options), "contxt", "context"],
    ["AgentHost.create", (options) => AgentHost.create(options), "idle", "idleMs"],
    ["AgentServer.start", (options) => AgentServer.start(options), "leasTtlMs", "leaseTtlMs"],
    ["server.setContextPolicy", (options) => server.setContextPolicy(options), "maxTurn", "maxTurns"],
    ["defineAgent", (options: object) => defineAgent({ model: agent.model, ...options }), "temprature", "temperature"],
  ])("%s", async (_, run, given, meant) => {
    const refused = (async () => run({ [given]: 1 } as never))();
    await expect(refused).rejects.toThrow(`Did you mean ${meant}?`);
  });

  test("a word that is like none of them, or very long, gets only the list", async () => {
    for (const name of ["xyzzy", "idleMs".repeat(100_000)]) {
      const refused = (async () => AgentHost.create({ agent, store, [name]: 1 } as never))();
      await expect(refused).rejects.toThrow(/^(?!.*Did you mean).* It has: agent, store, /s);
    }
  });
});

async function first(items: AsyncIterable<unknown>): Promise<void> {
  for await (const _item of items) return;
}
