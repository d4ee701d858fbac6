import {
  type AgentContext,
  AgentHost,
  AgentServer,
  type AnyAgent,
  defineAgent,
  memoryStore,
  type RequestResult,
  type RunResult,
  react,
  type ToolOptions,
} from "heddle";
import { chatTurn } from "heddle/ai-sdk";
import { scriptedModel } from "heddle/testing";
import { describe, expectTypeOf, test } from "vitest";

const schema = {
  "~standard": {
    version: 1,
    vendor: "test",
    validate: (value: unknown) => ({ value: value as { n: number } }),
    types: undefined as unknown as { readonly input: { n: number }; readonly output: { n: number } },
  },
} as const;

const model = scriptedModel([]);
const store = memoryStore();

test("the object of a result is what the agent's output says", async () => {
  const server = await AgentServer.start({ agent: defineAgent({ model, output: schema }), store });
  const request = await server.ask("Count.");
  expectTypeOf(request.result).resolves.toEqualTypeOf<RequestResult<{ n: number }>>();
  const plain = await AgentServer.start({ agent: defineAgent({ model }), store });
  expectTypeOf((await (await plain.ask("Hi.")).result).object).toEqualTypeOf<undefined>();
});

test("the context of an ask is what the agent's tools need", async () => {
  const inputSchema = { type: "object" } as const;
  const tools = {
    look: { inputSchema, execute: (_input: object, { context }: ToolOptions<{ user: string }>) => context.user },
  };
  const server = await AgentServer.start({ agent: defineAgent({ model, tools }), store });
  await server.ask("Hi.", { context: { user: "ann" } });
  // @ts-expect-error a user is a name
  await server.ask("Hi.", { context: { user: 7 } });
});

describe("where the tools need a context", () => {
  const inputSchema = { type: "object" } as const;
  const tools = {
    look: { inputSchema, execute: (_input: object, { context }: ToolOptions<{ user: string }>) => context.user },
  };
  const needy = defineAgent({ model, tools });
  const messages = [{ id: "1", role: "user", parts: [{ type: "text", text: "Hi." }] }];

  test("no ask goes without one", async () => {
    const server = await AgentServer.start({ agent: needy, store });
    // @ts-expect-error the tools need a user
    await server.ask("Hi.");
    // @ts-expect-error the tools need a user
    await server.ask("Hi.", {});
    // @ts-expect-error the tools need a user
    await server.ask("Hi.", { maxIterations: 1, context: undefined });
    const host = AgentHost.create({ agent: needy, store });
    await host.ask("thread_1", "Hi.", { context: { user: "ann" } });
    // @ts-expect-error the tools need a user
    await host.ask("thread_1", "Hi.");
    // @ts-expect-error the tools need a user
    await (await host.get("thread_1")).ask("Hi.", { refs: {} });
    await chatTurn(host, "thread_1", messages, { context: { user: "ann" }, by: "ann" });
    // @ts-expect-error the tools need a user
    await chatTurn(host, "thread_1", messages);
  });

  test("no run does either, of an agent or of a config", async () => {
    const context = { user: "ann" };
    expectTypeOf(await react.run("Hi.", needy, { context })).toEqualTypeOf<RunResult<undefined>>();
    await react.run("Hi.", { model, tools }, { context });
    // @ts-expect-error the tools need a user
    await react.run("Hi.", needy);
    // @ts-expect-error the tools need a user
    await react.run("Hi.", { model, tools });
    // @ts-expect-error the tools need a user
    react.stream("Hi.", needy, { maxIterations: 1 });
    // @ts-expect-error the tools need a user
    await react.start("Hi.", { model, tools });
  });

  test("what the prompt takes does not hide what they need", async () => {
    const systemPrompt = ({ locale }: { locale: string }) => locale;
    const agent = defineAgent({ model, tools, systemPrompt });
    const server = await AgentServer.start({ agent, store });
    await server.ask("Hi.", { context: { user: "ann", locale: "de" } });
    // @ts-expect-error the tools need a user
    await server.ask("Hi.", { context: { locale: "de" } });
    // @ts-expect-error the tools need a user, of a config too
    await react.run("Hi.", { model, tools, systemPrompt }, { context: { locale: "de" } });
    await react.run("Hi.", { model, tools, systemPrompt }, { context: { user: "ann", locale: "de" } });
  });

  test("a server that takes requests up gives all of it", async () => {
    const agent = defineAgent({ model, tools, systemPrompt: ({ tier }: { tier: "free" | "paid" }) => tier });
    const context = (): AgentContext<typeof agent> => ({ user: "ann", tier: "free" });
    await AgentServer.start({ agent, store, context });
    // @ts-expect-error a literal that stands alone is any text: the function says its type
    await AgentServer.start({ agent, store, context: () => ({ user: "ann", tier: "free" }) });
    // @ts-expect-error the tools need a user
    await AgentServer.start({ agent, store, context: () => ({ tier: "free" as const }) });
  });

  test("and any server is one of any agent", async () => {
    const server = await AgentServer.start({ agent: needy, store });
    expectTypeOf(server).toExtend<AgentServer>();
    expectTypeOf(AgentHost.create({ agent: needy, store })).toExtend<AgentHost>();
  });
});

test("where no tool needs a context, no caller has to pass one", async () => {
  const server = await AgentServer.start({ agent: defineAgent({ model }), store });
  await server.ask("Hi.");
  await server.ask("Hi.", { context: { whatever: true } });
  const of = defineAgent({ model, systemPrompt: (context: { user: string } | undefined) => context?.user ?? "" });
  await (await AgentServer.start({ agent: of, store })).ask("Hi.");
  await react.run("Hi.", of);
  const plain = { inputSchema: { type: "object" }, execute: () => "seen" } as const;
  const host = AgentHost.create({ agent: defineAgent({ model, tools: { plain } }), store });
  await host.ask("thread_1", "Hi.");
  const any: AgentServer = await AgentServer.start({ agent: defineAgent({ model }) as AnyAgent, store });
  await any.ask("Hi.");
  const prompted = defineAgent({ model, systemPrompt: ({ user }: { user: string }) => user });
  // @ts-expect-error the prompt needs a user
  await react.run("Hi.", prompted);
});

test("a host has one agent, or several whose outputs its results may have", async () => {
  const agents = { counter: defineAgent({ model, output: schema }), plain: defineAgent({ model }) };
  const host = AgentHost.create({ agents, store, context: (_thread, _refs, agent) => agent.length });
  expectTypeOf(host).toExtend<AgentHost>();
  const { object } = await (await host.ask("thread_1", "Count.", { agent: "counter" })).result;
  expectTypeOf(object).toEqualTypeOf<{ n: number } | undefined>();
  await host.get("thread_1", { agent: "counter" });
  const messages = [{ id: "1", role: "user", parts: [{ type: "text", text: "Hi." }] }];
  await chatTurn(host, "thread_1", messages, { agent: "counter" });
  AgentHost.create({ agents: [agents.counter, agents.plain], store });
  // @ts-expect-error one agent or several
  AgentHost.create({ agent: agents.plain, agents, store });
  // @ts-expect-error no agent
  AgentHost.create({ store });
  const server = await AgentServer.start({ agent: agents.plain, store });
  // @ts-expect-error a server has one agent
  await server.ask("Hi.", { agent: "plain" });
});

test("servers and hosts are classes, which only `start` and `create` construct", () => {
  // @ts-expect-error the constructor is private
  expectTypeOf(() => new AgentServer()).returns.toExtend<AgentServer>();
  // @ts-expect-error the constructor is private
  expectTypeOf(() => new AgentHost({ agent: defineAgent({ model }), store })).returns.toExtend<AgentHost>();
  const value: unknown = store;
  if (value instanceof AgentServer) expectTypeOf(value.threadId).toEqualTypeOf<string>();
});

describe("a host", () => {
  type Overloaded = "ask" | "cancel" | "waiting";
  type OfThread = Exclude<keyof AgentServer, "threadId" | "request" | "stop" | typeof Symbol.asyncDispose>;
  type Plain = Exclude<OfThread, Overloaded>;

  test("has all methods of a server", () => {
    expectTypeOf<Exclude<OfThread, keyof AgentHost>>().toBeNever();
  });

  test("takes the thread id first, and answers as a server does", () => {
    expectTypeOf<AgentHost>().toExtend<{
      [Name in Plain]: (threadId: string, ...args: Parameters<AgentServer[Name]>) => ReturnType<AgentServer[Name]>;
    }>();
  });
});
