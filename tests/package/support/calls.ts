/** Calls of what each entry point exports. The module imports nothing else, unless it has to pass it. */
export const CALLS: { readonly [entry: string]: string } = {
  heddle: `
    import { AgentHost, AgentServer, calibrate, calibrated, content, ContextPolicy, createProjector, defineAgent, developmentHost, entriesOfStep,
      explain, fail, hasToolCall, heuristic, jsonSchema, type ProviderModel, loadExactCounter, mcpTools, memoryStore, ok, openCalls,
      openStore, openTelemetry, project, projectFromStore, react, rebuildCall, resumeTokens, runTool, systemRuntimePorts, Thread,
      defineTool, toolSpecsOf, transcript } from "heddle";
    declare const model: ProviderModel;
    export const policy = ContextPolicy.create({ maxInputTokens: 1000 });
    export const resolved = ContextPolicy.resolve({ request: policy, model: "openai:gpt-5" });
    export const thread = Thread.create();
    export const longer = thread.append({ kind: "ai_message", payload: { role: "user", content: "Hi." } });
    export const stats = longer.stats;
    export const projected = project({ thread });
    export const projector = createProjector();
    export const again = projector.project({ thread, policy });
    export const explained = explain({ thread });
    export const open = openCalls(thread);
    export const items = transcript(thread);
    export const steps = entriesOfStep([], { callId: "call_1" });
    export const schema = jsonSchema<{ a: number }>({ type: "object" });
    export const sum = defineTool({ inputSchema: schema, execute: ({ a }) => a + 1 });
    export const plain = defineTool({ inputSchema: { type: "object", properties: { a: { type: "number" } } }, execute: () => ok(1) });
    export const refunded = defineTool({ inputSchema: schema, needsApproval: true, execute: () => fail("no") });
    export const page = content([{ type: "text", text: "Hi." }]);
    export const agent = defineAgent({ name: "a", model, tools: { sum, plain }, stopWhen: hasToolCall("sum") });
    export const typed = defineAgent({ model, output: schema });
    export const chatting = react({ maxIterations: 3 });
    export const run = react.run("Hi.", agent);
    export const result = await run;
    export const started = react.start("Hi.", { model, output: schema });
    export const ended = await started;
    export const store = memoryStore();
    export const opened = await openStore("memory:");
    export const loaded = await store.load("thread_1");
    export const appended = await store.append("thread_1", { kind: "note" });
    export const listed = await store.list();
    export const fromStore = await projectFromStore(store, "thread_1");
    export const host = AgentHost.create({ agent, store });
    export const newest = developmentHost("chat", () => AgentHost.create({ agent, store }));
    export const server = await host.get("thread_1");
    export const other = await AgentServer.start({ agent: typed, store });
    export const request = await server.ask("Hi.");
    export const answer = await request.result;
    export const resumed = await host.resume("thread_1");
    export const works = host.work({ concurrency: 20, modelCalls: { openai: 100 } });
    export const state = request.state;
    export const events = request.events();
    export const operation = await server.modifyContext({ type: "switch_lane", lane: "b" } as never);
    export const token = await resumeTokens.mint(
      { runId: "r", requestId: "q", phase: "after_tools", context: { messages: [] } },
      { tokenSecret: "a secret of at least 32 bytes...." },
    );
    export const verified = await resumeTokens.verify(token, { tokenSecret: "a secret of at least 32 bytes...." });
    export const factor = calibrate(heuristic, []);
    export const fixed = calibrated(heuristic, 1.2);
    export const exact = await loadExactCounter("openai:gpt-5");
    export const rebuilt = await rebuildCall(store, "thread_1", "call_1");
    export const ran = await runTool({ id: "call_1", name: "sum", arguments: {} }, { tools: { sum } });
    export const specs = await toolSpecsOf({ sum });
    export const telemetry = await openTelemetry();
    export const mcp = await mcpTools({} as never);
    export const ports = { ...systemRuntimePorts, clock: () => 0 };`,
  "heddle/core": `
    import { Thread, heuristic, defineAgent, type ProviderModel } from "heddle";
    import { acceptSummary, addUsage, cmd, concat, countMessage, countTool, defineAction, direct, exactCounter, factsOf, foldLane,
      inspectAgent, isWaiting, reactAgent, reactSettings, restore, segments, summaryRangeOf, summaryRequest, systemPorts, verifyLane,
      waitingCalls } from "heddle/core";
    const thread = Thread.create();
    export const add = defineAction({ name: "add", inputSchema: { type: "object" }, run: () => 4 });
    export const adding = direct({ actions: [add] });
    export const added = cmd(adding, { type: "instruction", action: "add", params: {} });
    export const settings = reactSettings({ maxIterations: 1 });
    export const agent = reactAgent(settings);
    export const restored = restore(settings, thread);
    export const waiting = waitingCalls(restored);
    export const inspected = inspectAgent(restored);
    export const lane = foldLane(thread, "main");
    export const report = verifyLane(thread, lane);
    export const counter = exactCounter("o200k_base", (text: string) => text.length);
    export const facts = factsOf(heuristic);
    export const tokens = [countMessage({ role: "user", content: "Hi." }, counter)];
    export const range = summaryRangeOf({ thread, lane: "main" }, 1);
    export const request = summaryRequest({ fromSeq: 0, toSeq: 1, messages: [] });
    export const verdict = acceptSummary({ fromSeq: 0, toSeq: 1, messages: [] }, "Nothing.");
    export const messages = concat([], []);
    export const ports = { ...systemPorts, clock: () => 0 };`,
  "heddle/store": `
    import { defineStore, MemoryDatabase, type StoreDriver, storeClosed, threadNotFound } from "heddle/store";
    declare const driver: StoreDriver;
    export const store = defineStore(driver);
    export const database = new MemoryDatabase();
    export const loaded = await store.load("thread_1");
    export const claim = await store.claim("thread_1", { holder: "a", ttlMs: 1000 });
    export const feed = store.watch("thread_1", { fromSeq: 0 });
    export const closed = storeClosed();
    export const missing = threadNotFound("thread_1");`,
  "heddle/sqlite": `
    import { sqliteStore } from "heddle/sqlite";
    export const store = await sqliteStore("./threads.db");
    export const listed = await store.list();`,
  "heddle/postgres": `
    import { openPostgresStore, postgresStore } from "heddle/postgres";
    export const store = await openPostgresStore("postgres://127.0.0.1/heddle");
    export const listed = await store.list();
    export const make = (...given: Parameters<typeof postgresStore>) => postgresStore(...given);`,
  "heddle/cloudflare": `
    import { AgentHost, type AnyAgent } from "heddle";
    import { type DurableContext, durableObjectStore, durableThreads } from "heddle/cloudflare";
    declare const context: DurableContext;
    declare const agent: AnyAgent;
    export const store = durableObjectStore(context.storage);
    export const threads = durableThreads(context, (options) => AgentHost.create({ ...options, agent }));`,
  "heddle/restate": `
    import type { AgentHost } from "heddle";
    import { restateScheduler, restateThreads } from "heddle/restate";
    declare const host: AgentHost;
    export const scheduler = restateScheduler({ url: "http://127.0.0.1:8080" });
    export const service = restateThreads(host);`,
  "heddle/providers": `
    import { RULES, toAISDKPrompt, toAnthropic, toGemini, toModelMessages, toModelPrompt, toOpenAIChat, toOpenAIResponses,
      validateMessages } from "heddle/providers";
    export const anthropic = toAnthropic([]);
    export const gemini = toGemini([]);
    export const chat = toOpenAIChat([]);
    export const responses = toOpenAIResponses([]);
    export const prompt = toAISDKPrompt([]);
    export const messages = toModelMessages([]);
    export const modelPrompt = toModelPrompt([]);
    export const violations = validateMessages([], "anthropic");
    export const rules = { ...RULES };`,
  "heddle/ai-sdk": `
    import { AgentHost, defineAgent, type ProviderModel, memoryStore, Thread } from "heddle";
    import { chatTurn, lastUserContent, projectionStep, resumeTurn, toAISDKPrompt, toModelMessages, toUIMessages, uiMessageStream,
      uiMessageStreamResponse } from "heddle/ai-sdk";
    declare const model: ProviderModel;
    const host = AgentHost.create({ agent: defineAgent({ model }), store: memoryStore() });
    export const turn = await chatTurn(host, "thread_1", []);
    export const resumed = await resumeTurn(host, "thread_1");
    export const step = projectionStep({});
    export const stream = uiMessageStream(turn.request);
    export const stream6 = uiMessageStream(turn.request, { client: 6 });
    export const response = uiMessageStreamResponse(turn.request);
    export const shown = toUIMessages(Thread.create());
    export const asked = lastUserContent([]);
    export const prompt = toAISDKPrompt([]);
    export const messages = toModelMessages([]);`,
  "heddle/client": `
    import { chatTransport, followThread, type UIChatMessage } from "heddle/client";
    export const transport = chatTransport({ api: "/api/chat" });
    export const transport6 = chatTransport({ client: 6 });
    export const followed = followThread<UIChatMessage>({
      transport, id: "thread_1", setMessages: () => undefined, resumeStream: async () => undefined,
    });`,
  "heddle/react": `
    import { chatTransport, type ReactChat, type UIChatMessage, useThread } from "heddle/react";
    declare const chat: ReactChat<UIChatMessage>;
    export const thread = useThread(chat, chatTransport());`,
  "heddle/studio": `
    import { assistantAgent, demoAgent, demoModel, modelFromEnv, openApi, startStudio, studioHandler } from "heddle/studio";
    export const studio = await startStudio({ port: 0 });
    export const handler = await studioHandler();
    export const agent = demoAgent();
    export const model = demoModel({ wordMs: 0 });
    export const configured = await modelFromEnv({});
    export const assistant = assistantAgent(model);
    export const api = openApi();`,
  "heddle/testing": `
    import { memoryStore } from "heddle";
    import { askSignal, assistant, engineContract, faultStore, inLane, modelCallsSignal, modelTextSignal, note, notes, numberedPorts, replace,
      scriptedModel, simulate, specify, storeContract, summary, switchTo, toolCall, toolResult, toolResultSignal, user } from "heddle/testing";
    export const model = scriptedModel(["4"]);
    export const answered = await model.doGenerate({ prompt: [] });
    export const specification = specify({ maxIterations: 1 }).given([askSignal("Hi.")]).when(modelTextSignal("call_1", "4"));
    export const simulated = await simulate({ seed: 1 });
    export const store = faultStore(memoryStore());
    export const writes = store.writes;
    export const cases = storeContract({ open: () => memoryStore() });
    export const engineCases = engineContract({ start: async () => ({ scheduler: { wake: () => {} }, kill: async () => {} }) });
    export const ports = numberedPorts();
    export const signals = [modelCallsSignal("call_1", []), toolResultSignal("call_1", "tool_1", "4")];
    export const call = toolCall("call_1", "add", {});
    export const entries = [user("Hi."), assistant("Hi."), note({ a: 1 }), switchTo("b"), summary(0, 1, "Nothing.")];`,
};
